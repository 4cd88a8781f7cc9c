# Headers that most files read are compiled once, where SYRINX_PCH is on:
#   syrinx_use_pch(target library|server)    cmake/pch/<which>.h
# The first target of each kind compiles them, the others share that, so their options are the same.
# Every file still includes what it needs: a build without SYRINX_PCH shows where one does not.
if(SYRINX_PCH AND CCACHE)  # told that macros before precompiled headers do not change them
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
function(syrinx_use_pch target which)
  if(NOT SYRINX_PCH)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY syrinx_pch_${which})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch/${which}.h)
    set_property(GLOBAL PROPERTY syrinx_pch_${which} ${target})
  endif()
endfunction()
