# COPY = SOURCE with DIFFERENCE, and at its end whether that could be applied: a patch that does not
# fit any more fails its test, and not the build of everything else.

execute_process(
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/plant.py ${SOURCE} ${DIFFERENCE} ${COPY}
  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(failed)
  message(WARNING "${said}")
  configure_file(${SOURCE} ${COPY} COPYONLY)
  set(applied false)
else()
  set(applied true)
endif()
file(APPEND ${COPY} "\nnamespace tensorhub::fault {\nextern const bool planted_applied;\n"
                    "const bool planted_applied = ${applied};\n}  // namespace tensorhub::fault\n")
