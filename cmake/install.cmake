# Installs the command, and the kit that the engine itself is built from: the public headers with one static library, found
# by find_package(wrackline) as wrackline::wrackline and by pkg-config as wrackline.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(kit_objects "")
foreach(room base event_time disorder)
  get_target_property(kind wrackline_${room} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    list(APPEND kit_objects $<TARGET_OBJECTS:wrackline_${room}>)
  endif()
endforeach()
add_library(wrackline_kit STATIC ${kit_objects})
set_target_properties(wrackline_kit PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME wrackline EXPORT_NAME wrackline)
target_compile_features(wrackline_kit INTERFACE cxx_std_23)
target_include_directories(wrackline_kit INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(wrackline_kit INTERFACE fmt::fmt)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wrackline)
file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/wrackline.pc.in ${PROJECT_BINARY_DIR}/wrackline.pc @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wracklineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS wrackline_kit EXPORT wrackline DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT wrackline NAMESPACE wrackline:: FILE wracklineTargets.cmake DESTINATION ${package_folder})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/wracklineConfig.cmake ${PROJECT_BINARY_DIR}/wracklineConfigVersion.cmake
        DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/wrackline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wrackline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET wrackline)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/completion/wrackline
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completion
                     COMMAND wrackline completion bash > ${PROJECT_BINARY_DIR}/completion/wrackline
                     DEPENDS wrackline)
  add_custom_target(wrackline_completion ALL DEPENDS ${PROJECT_BINARY_DIR}/completion/wrackline)
  install(FILES ${PROJECT_BINARY_DIR}/completion/wrackline
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
