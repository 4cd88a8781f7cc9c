# syrinx_flags(target): sets the flags of all code of this project. Called right after a target is
# made, so that the target's own options come later and take precedence.
function(syrinx_flags target)
  if(SYRINX_DEPS_DIR)
    target_link_directories(${target} PRIVATE ${SYRINX_DEPS_DIR}/lib)
    target_include_directories(${target} SYSTEM PRIVATE ${SYRINX_DEPS_DIR}/include)
  endif()
  if(SYRINX_CUDA)
    # No contraction of products here either (see below).
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>
      $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>")
    if(SYRINX_CUDA_REPORT)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>")
    endif()
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
    $<$<COMPILE_LANGUAGE:CXX>:-Wshadow> $<$<COMPILE_LANGUAGE:CXX>:-Werror=return-type>
    $<$<COMPILE_LANGUAGE:CXX>:-Werror=switch>
    # Clang wrongly reports macros of FFmpeg and libseccomp as missing fields.
    $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-missing-field-initializers>)
  if(CMAKE_UNITY_BUILD)
    # In a unity build several files are the main file. GCC collects garbage from 128 MB on, which
    # takes a tenth of the time.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)
  endif()
  # The compiler must not contract a*b+c by itself, because the reference kernels and the fast ones
  # would then round differently. Kernels call FMA by name.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  # A char is signed on all processors; on ARM the default is unsigned.
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsigned-char>
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fsigned-char>)
  endif()
  if(SYRINX_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SYRINX_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer -g1 -O1)
    # The address sanitizer also detects these faults; the three checks double the time to compile a
    # file.
    if(SYRINX_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE -fno-sanitize=null,vptr,alignment)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${SYRINX_SANITIZE})
  endif()
endfunction()
