// yajl: a JSON parser that calls back.
#pragma once
#include <yajl/yajl_parse.h>
