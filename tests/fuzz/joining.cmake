tutti_fuzz(NAME joining SOURCES joining_fuzz.cpp LIBS tutti_harness)
