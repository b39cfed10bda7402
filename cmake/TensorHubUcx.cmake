# Debian 13's package of UCX takes /usr/lib for what it was installed into, so that neither the headers
# nor the libraries that it names are there; nor are those of a sysroot's. Then they are looked for.

include_guard(GLOBAL)

get_target_property(ucx_library ucx::ucp IMPORTED_LOCATION)
if(NOT EXISTS "${ucx_library}")
  find_path(TENSORHUB_UCX_INCLUDE ucp/api/ucp.h REQUIRED)
  foreach(part ucs ucp uct)
    find_library(TENSORHUB_UCX_${part} ${part} REQUIRED)
    set_target_properties(ucx::${part} PROPERTIES IMPORTED_LOCATION ${TENSORHUB_UCX_${part}}
                          INTERFACE_INCLUDE_DIRECTORIES ${TENSORHUB_UCX_INCLUDE})
  endforeach()
endif()
