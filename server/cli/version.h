/* The version in `--version`, `hello` and the OpenAPI document. */
#ifndef GW_SERVER_CLI_VERSION_H
#define GW_SERVER_CLI_VERSION_H

#define GUIDEWAY_VERSION "0.1.0"

#endif
