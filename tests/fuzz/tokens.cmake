tutti_fuzz(NAME tokens SOURCES tokens_fuzz.cpp LIBS tutti_harness)
