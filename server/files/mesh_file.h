/*
 * Mesh files: STL, binary and ASCII, and OBJ (vertices and faces only). Any thread; no state.
 */
#ifndef GW_SERVER_FILES_MESH_FILE_H
#define GW_SERVER_FILES_MESH_FILE_H

#include "rt/guideway.h"

/* True for a name that ends in .stl or .obj, in either case. */
bool mesh_file_known(const char *name);

/*
 * The mesh of a file's bytes; data[size] must be readable and zero. Lengths are metres. One
 * reference; NULL with an error that names the line, or the fault of the triangles.
 */
gw_mesh *mesh_file_parse(const char *name, const char *data, size_t size, gw_error *error);

#endif
