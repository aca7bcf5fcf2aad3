// Type names to types.
#pragma once

#include "base/error.h"
#include "data/types.h"
#include "sql/job_text.h"
#include "sql/syntax.h"

namespace wrackline::sql {

// Errors: kInvalid for a type that does not exist or a modifier that it cannot have; kUnsupported for
// PostgreSQL's other
//         types, naming the one to use instead.
Result<Type> bind_type(const JobText& text, const TypeSyntax& type);

// The text of INTERVAL '4' SECOND as the interval text "4 SECOND"; the text as it is when the type has no
// fields. Errors: kUnsupported for fields that PostgreSQL reads in ways of its own ('1:30' MINUTE TO SECOND,
// SECOND(3)).
Result<std::string> interval_text(const JobText& text, const TypeSyntax& type, const std::string& value);

}  // namespace wrackline::sql
