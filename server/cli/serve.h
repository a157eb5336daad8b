/*
 * The command `serve`: the appliance, from its options to the end.
 */
#ifndef GW_SERVER_CLI_SERVE_H
#define GW_SERVER_CLI_SERVE_H

/* The arguments after the command's name, which argv[-1] is. Returns the exit code: 0 stopped by a
 * signal, 1 failed, 2 bad usage. */
int serve_main(int argc, char **argv);

/* Prints the route table, "METHOD /path" a line, for the test that compares it with the OpenAPI
 * document. */
int serve_routes(int argc, char **argv);
int serve_openapi(int argc, char **argv);

#endif
