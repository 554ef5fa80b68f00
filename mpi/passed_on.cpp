// Functions that are MPI's alone and may wait for other ranks: tutti advances meanwhile (world.h).
#include "mpi/report.h"
#include "mpi/world.h"

#define TUTTI_MPI_PASSED(name, parameters, arguments) \
  TUTTI_MPI_ENTRY(name, parameters, MPI_COMM_WORLD, {                                                                                \
    const passing by_mpi;                 \
    return real.name arguments;           \
  })

TUTTI_MPI_PASSED(Intercomm_create, (MPI_Comm own, int leader, MPI_Comm between, int other, int tag, MPI_Comm* fresh), (own, leader, between, other, tag, fresh))
TUTTI_MPI_PASSED(Comm_spawn, (const char* command, char* words[], int n, MPI_Info info, int root, MPI_Comm c, MPI_Comm* fresh, int codes[]),
                 (command, words, n, info, root, c, fresh, codes))
TUTTI_MPI_PASSED(Comm_spawn_multiple,
                 (int count, char* commands[], char** words[], const int n[], const MPI_Info info[], int root, MPI_Comm c, MPI_Comm* fresh, int codes[]),
                 (count, commands, words, n, info, root, c, fresh, codes))
TUTTI_MPI_PASSED(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm c, MPI_Comm* fresh), (port, info, root, c, fresh))
TUTTI_MPI_PASSED(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm c, MPI_Comm* fresh), (port, info, root, c, fresh))
TUTTI_MPI_PASSED(Comm_join, (int socket, MPI_Comm* fresh), (socket, fresh))

TUTTI_MPI_PASSED(File_open, (MPI_Comm c, const char* name, int mode, MPI_Info info, MPI_File* f), (c, name, mode, info, f))
TUTTI_MPI_PASSED(File_close, (MPI_File * f), (f))
TUTTI_MPI_PASSED(File_set_view, (MPI_File f, MPI_Offset at, MPI_Datatype e, MPI_Datatype t, const char* form, MPI_Info info), (f, at, e, t, form, info))
TUTTI_MPI_PASSED(File_set_size, (MPI_File f, MPI_Offset bytes), (f, bytes))
TUTTI_MPI_PASSED(File_preallocate, (MPI_File f, MPI_Offset bytes), (f, bytes))
TUTTI_MPI_PASSED(File_sync, (MPI_File f), (f))
TUTTI_MPI_PASSED(File_read_all, (MPI_File f, void* data, int n, MPI_Datatype t, MPI_Status* s), (f, data, n, t, s))
TUTTI_MPI_PASSED(File_write_all, (MPI_File f, const void* data, int n, MPI_Datatype t, MPI_Status* s), (f, data, n, t, s))
TUTTI_MPI_PASSED(File_read_at_all, (MPI_File f, MPI_Offset at, void* data, int n, MPI_Datatype t, MPI_Status* s), (f, at, data, n, t, s))
TUTTI_MPI_PASSED(File_write_at_all, (MPI_File f, MPI_Offset at, const void* data, int n, MPI_Datatype t, MPI_Status* s), (f, at, data, n, t, s))
TUTTI_MPI_PASSED(File_read_ordered, (MPI_File f, void* data, int n, MPI_Datatype t, MPI_Status* s), (f, data, n, t, s))
TUTTI_MPI_PASSED(File_write_ordered, (MPI_File f, const void* data, int n, MPI_Datatype t, MPI_Status* s), (f, data, n, t, s))
TUTTI_MPI_PASSED(File_set_atomicity, (MPI_File f, int atomic), (f, atomic))
TUTTI_MPI_PASSED(File_set_info, (MPI_File f, MPI_Info info), (f, info))
TUTTI_MPI_PASSED(File_seek_shared, (MPI_File f, MPI_Offset at, int from), (f, at, from))
TUTTI_MPI_PASSED(File_read_all_begin, (MPI_File f, void* data, int n, MPI_Datatype t), (f, data, n, t))
TUTTI_MPI_PASSED(File_read_all_end, (MPI_File f, void* data, MPI_Status* s), (f, data, s))
TUTTI_MPI_PASSED(File_write_all_begin, (MPI_File f, const void* data, int n, MPI_Datatype t), (f, data, n, t))
TUTTI_MPI_PASSED(File_write_all_end, (MPI_File f, const void* data, MPI_Status* s), (f, data, s))
TUTTI_MPI_PASSED(File_read_at_all_begin, (MPI_File f, MPI_Offset at, void* data, int n, MPI_Datatype t), (f, at, data, n, t))
TUTTI_MPI_PASSED(File_read_at_all_end, (MPI_File f, void* data, MPI_Status* s), (f, data, s))
TUTTI_MPI_PASSED(File_write_at_all_begin, (MPI_File f, MPI_Offset at, const void* data, int n, MPI_Datatype t), (f, at, data, n, t))
TUTTI_MPI_PASSED(File_write_at_all_end, (MPI_File f, const void* data, MPI_Status* s), (f, data, s))
TUTTI_MPI_PASSED(File_read_ordered_begin, (MPI_File f, void* data, int n, MPI_Datatype t), (f, data, n, t))
TUTTI_MPI_PASSED(File_read_ordered_end, (MPI_File f, void* data, MPI_Status* s), (f, data, s))
TUTTI_MPI_PASSED(File_write_ordered_begin, (MPI_File f, const void* data, int n, MPI_Datatype t), (f, data, n, t))
TUTTI_MPI_PASSED(File_write_ordered_end, (MPI_File f, const void* data, MPI_Status* s), (f, data, s))

TUTTI_MPI_ENTRY(Win_create_dynamic, (MPI_Info info, MPI_Comm c, MPI_Win* w), c, {
  call k(function::Win_create_dynamic);
  k.passed(reason::window);
  const passing by_mpi;
  return real.Win_create_dynamic(info, c, w);
})
