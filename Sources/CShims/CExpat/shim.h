// expat: an XML parser that calls back.
#pragma once
#include <expat.h>
