# SPDX-License-Identifier: BSD-3-Clause
#
#   find_package(verity-automap REQUIRED)
#   add_executable(program main.c)
#   verity_automap(program particles.h [OPTIONS --pointers ignore ...])
#
# generates particles_automap.h and particles_automap_mpi.h in the build folder, before the target is compiled and
# again when a header that they depend on changes, and adds the folders that the target needs to include them.
# Cached variables: VERITY_TYPES, the program; VERITY_AUTOMAP_INCLUDE_DIR, the folder of ucx-verity/automap.h.
cmake_minimum_required(VERSION 3.20)

find_program(VERITY_TYPES verity-types HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin")
find_path(VERITY_AUTOMAP_INCLUDE_DIR ucx-verity/automap.h HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../include")
set(verity-automap_FOUND FALSE)
if(VERITY_TYPES AND VERITY_AUTOMAP_INCLUDE_DIR)
  execute_process(COMMAND "${VERITY_TYPES}" automap --version RESULT_VARIABLE _verity_status
                  ERROR_VARIABLE verity-automap_NOT_FOUND_MESSAGE OUTPUT_QUIET)
  if(_verity_status EQUAL 0)
    set(verity-automap_FOUND TRUE)
  endif()
else()
  set(verity-automap_NOT_FOUND_MESSAGE "verity-types or ucx-verity/automap.h is not found: install ucx-verity")
endif()

function(verity_automap target header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OPTIONS")
  get_filename_component(path "${header}" ABSOLUTE)
  get_filename_component(folder "${path}" DIRECTORY)
  get_filename_component(file "${path}" NAME)
  get_filename_component(name "${path}" NAME_WE)
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/${name}_automap")
  set(folders "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  add_custom_command(
    OUTPUT "${stem}.h" "${stem}_mpi.h"
    COMMAND "${VERITY_TYPES}" automap "${file}" --output "${stem}" --depfile "${stem}.d" ${arg_OPTIONS} -- "-I${folder}"
            "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
    DEPENDS "${path}"
    DEPFILE "${stem}.d"
    COMMENT "Mapping the structs of ${header}"
    COMMAND_EXPAND_LISTS VERBATIM)
  target_sources(${target} PRIVATE "${stem}.h" "${stem}_mpi.h")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}" "${folder}" "${VERITY_AUTOMAP_INCLUDE_DIR}")
endfunction()
