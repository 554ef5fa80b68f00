tutti_fuzz(NAME tuning SOURCES tuning_fuzz.cpp LIBS tutti_core)
