# Builds programs that need only the C library, 2.31 or newer. -DSYRINX_SYSROOT=FOLDER is the folder of
# tools/portable_sysroot, -DSYRINX_ARCH=x86_64|aarch64 the processor.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SYRINX_SYSROOT SYRINX_ARCH)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${SYRINX_ARCH})
set(triple ${SYRINX_ARCH}-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_C_COMPILER ${triple}-gcc-12)
set(CMAKE_CXX_COMPILER ${triple}-g++-12)
set(CMAKE_SYSROOT ${SYRINX_SYSROOT}/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${triple}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(PKG_CONFIG_ARGN --static)
# The files do not depend on the folder of the build.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(CMAKE_CXX_FLAGS_INIT "-ffile-prefix-map=${source}=. -ffile-prefix-map=${SYRINX_SYSROOT}=sysroot")
set(libs ${CMAKE_SYSROOT}/usr/lib/${triple})
set(link "-B${libs}/ -L${libs} -L${CMAKE_SYSROOT}/lib/${triple}")  # searched before this machine's folders
string(APPEND link " -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -Wl,--build-id=none")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${link} -Wl,--exclude-libs,ALL")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${link}")
# Static libraries that need each other, in any order.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lssl -lcrypto -lz -lmp3lame -lopus -lpthread -ldl -lm")
set(all "-Wl,--start-group <LINK_LIBRARIES> -Wl,--end-group")
set(CMAKE_CXX_LINK_EXECUTABLE
  "<CMAKE_CXX_COMPILER> <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> ${all}")
set(CMAKE_CXX_CREATE_SHARED_LIBRARY "<CMAKE_CXX_COMPILER> <CMAKE_SHARED_LIBRARY_CXX_FLAGS> <LANGUAGE_COMPILE_FLAGS> \
<LINK_FLAGS> <CMAKE_SHARED_LIBRARY_CREATE_CXX_FLAGS> <SONAME_FLAG><TARGET_SONAME> -o <TARGET> <OBJECTS> ${all}")
