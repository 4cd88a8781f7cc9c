# The header and the library in SYRINX_DEPS_DIR.
if(NOT TARGET simdjson::simdjson)
  find_library(SIMDJSON_LIBRARY simdjson REQUIRED)
  add_library(simdjson::simdjson INTERFACE IMPORTED GLOBAL)
  target_include_directories(simdjson::simdjson INTERFACE ${SYRINX_DEPS_DIR}/include)
  target_link_libraries(simdjson::simdjson INTERFACE ${SIMDJSON_LIBRARY})
endif()
set(simdjson_FOUND TRUE)
