# The headers in SYRINX_DEPS_DIR.
if(NOT TARGET nlohmann_json::nlohmann_json)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${SYRINX_DEPS_DIR}/include)
endif()
set(nlohmann_json_FOUND TRUE)
