# The static library that tools/portable_sysroot built.
find_library(SIMDJSON_LIBRARY simdjson REQUIRED)
if(NOT TARGET simdjson::simdjson)
  add_library(simdjson::simdjson INTERFACE IMPORTED GLOBAL)
  target_link_libraries(simdjson::simdjson INTERFACE ${SIMDJSON_LIBRARY})
endif()
set(simdjson_FOUND TRUE)
