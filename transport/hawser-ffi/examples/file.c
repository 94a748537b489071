/* Moves a file over two links: `file serve OUT` prints its address and pin, `file send ADDRESS PIN IN LINK LINK` sends IN to it.
 * `file both IN OUT` does both in one process, over 127.0.0.1 and 127.0.0.2, and prints what each path carried. */
#include <hawser.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 20000
#define PIECE 65536

/* Says what went wrong and ends the program, unless `result` is one of those that are expected. */
static HawserResult must(HawserResult result, const char *what) {
    if (result < 0 || result == HAWSER_RESULT_TIMEOUT) {
        fprintf(stderr, "%s: %s\n", what, result < 0 ? hawser_last_error() : "took too long");
        exit(1);
    }
    return result;
}

static FILE *open_file(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (file == NULL) {
        perror(name);
        exit(1);
    }
    return file;
}

static HawserEndpoint *listen_at(const char *address) {
    HawserConfig *config;
    HawserEndpoint *endpoint;
    must(hawser_config_new(&config), "config");
    must(hawser_config_add_alpn(config, "file-example"), "alpn");
    must(hawser_config_set_identity_fresh(config, "localhost"), "identity");
    must(hawser_endpoint_server(config, address, &endpoint), "listen");
    hawser_config_free(config);
    return endpoint;
}

/* Writes what the first stream of the first client brings to a file, and says so with its length. */
static void receive(HawserEndpoint *endpoint, const char *name) {
    HawserConnection *connection;
    HawserStream *stream;
    static uint8_t piece[PIECE];
    uint8_t answer[8];
    uint64_t total = 0;
    size_t length;
    FILE *file = open_file(name, "wb");
    if (must(hawser_endpoint_accept(endpoint, PATIENCE_MS, &connection), "accept") == HAWSER_RESULT_END)
        exit(1);
    must(hawser_connection_accept_stream(connection, PATIENCE_MS, &stream), "accept a stream");
    while (must(hawser_stream_read(stream, piece, sizeof piece, PATIENCE_MS, &length), "read") == HAWSER_RESULT_OK) {
        if (fwrite(piece, 1, length, file) != length) {
            perror(name);
            exit(1);
        }
        total += length;
    }
    if (fclose(file) != 0) {
        perror(name);
        exit(1);
    }
    for (int place = 0; place < 8; place++)
        answer[place] = (uint8_t)(total >> 8 * (7 - place));
    must(hawser_stream_write(stream, answer, sizeof answer, PATIENCE_MS, &length), "answer");
    must(hawser_stream_finish(stream), "finish");
    hawser_stream_free(stream);
    /* The client closes: then nothing of the answer is in doubt. */
    if (hawser_connection_wait_closed(connection, PATIENCE_MS) != HAWSER_RESULT_CONNECTION_LOST)
        fprintf(stderr, "the client did not close\n");
    hawser_connection_free(connection);
}

/* Waits until both paths are open, so that even a small file goes over both. */
static void wait_for_paths(const HawserConnection *connection, int wanted) {
    HawserPathEvent event;
    while (wanted > 0 &&
           must(hawser_connection_next_path_event(connection, PATIENCE_MS, &event), "path event") == HAWSER_RESULT_OK) {
        if (event.kind == HAWSER_PATH_EVENT_KIND_ESTABLISHED)
            wanted--;
    }
}

static void report(const HawserConnection *connection) {
    HawserPath paths[8];
    HawserStatus status;
    size_t count;
    must(hawser_connection_status(connection, &status), "status");
    must(hawser_connection_paths(connection, paths, 8, &count), "paths");
    for (size_t place = 0; place < count && place < 8; place++)
        printf("path %" PRIu32 " %s -> %s sent %" PRIu64 " bytes, RTT %" PRIu64 " us\n", paths[place].id, paths[place].local,
               paths[place].remote, paths[place].bytes_sent, paths[place].smoothed_rtt_us);
    printf("stream bytes %" PRIu64 ", again %" PRIu64 "\n", status.stream_bytes_sent, status.stream_bytes_retransmitted);
}

static void send_file(const char *address, const char *pin, const char *name, const char *const *links, int count) {
    HawserConfig *config;
    HawserEndpoint *endpoint;
    HawserConnection *connection;
    HawserStream *stream;
    static uint8_t piece[PIECE];
    uint8_t answer[8];
    uint64_t total = 0, received = 0;
    size_t length, done, got = 0;
    FILE *file = open_file(name, "rb");
    must(hawser_config_new(&config), "config");
    must(hawser_config_add_alpn(config, "file-example"), "alpn");
    must(hawser_config_add_pin(config, pin), "pin");
    for (int place = 0; place < count; place++)
        must(hawser_config_add_link(config, links[place], false), links[place]);
    must(hawser_endpoint_client(config, &endpoint), "endpoint");
    hawser_config_free(config);
    must(hawser_endpoint_connect(endpoint, address, "localhost", PATIENCE_MS, &connection), address);
    wait_for_paths(connection, count);
    must(hawser_connection_open_stream(connection, true, PATIENCE_MS, &stream), "open a stream");
    while ((length = fread(piece, 1, sizeof piece, file)) > 0) {
        must(hawser_stream_write(stream, piece, length, PATIENCE_MS, &done), "write");
        total += done;
    }
    fclose(file);
    must(hawser_stream_finish(stream), "finish");
    while (got < sizeof answer &&
           must(hawser_stream_read(stream, answer + got, sizeof answer - got, PATIENCE_MS, &done), "answer") == HAWSER_RESULT_OK)
        got += done;
    for (int place = 0; place < 8; place++)
        received = received << 8 | answer[place];
    if (got < sizeof answer || received != total) {
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " bytes arrived\n", received, total);
        exit(1);
    }
    report(connection);
    hawser_stream_free(stream);
    must(hawser_connection_close(connection, 0, NULL, 0), "close");
    hawser_connection_free(connection);
    must(hawser_endpoint_wait_idle(endpoint, PATIENCE_MS), "wait until the peer knows");
    hawser_endpoint_free(endpoint);
}

struct receiver {
    HawserEndpoint *endpoint;
    const char *name;
};

static void *receive_in_thread(void *argument) {
    struct receiver *receiver = argument;
    receive(receiver->endpoint, receiver->name);
    return NULL;
}

static void both(const char *in, const char *out) {
    const char *links[] = {"127.0.0.1", "127.0.0.2"};
    char address[64], pin[64];
    pthread_t thread;
    struct receiver receiver = {listen_at("127.0.0.1:0"), out};
    must(hawser_endpoint_address(receiver.endpoint, address, sizeof address), "address");
    must(hawser_endpoint_pin(receiver.endpoint, pin, sizeof pin), "pin");
    if (pthread_create(&thread, NULL, receive_in_thread, &receiver) != 0)
        exit(1);
    send_file(address, pin, in, links, 2);
    pthread_join(thread, NULL);
    hawser_endpoint_free(receiver.endpoint);
}

int main(int count, char **arguments) {
    if (count == 4 && strcmp(arguments[1], "both") == 0) {
        both(arguments[2], arguments[3]);
    } else if (count == 3 && strcmp(arguments[1], "serve") == 0) {
        char address[64], pin[64];
        HawserEndpoint *endpoint = listen_at("127.0.0.1:0");
        must(hawser_endpoint_address(endpoint, address, sizeof address), "address");
        must(hawser_endpoint_pin(endpoint, pin, sizeof pin), "pin");
        printf("%s %s\n", address, pin);
        fflush(stdout);
        receive(endpoint, arguments[2]);
        hawser_endpoint_free(endpoint);
    } else if (count >= 6 && strcmp(arguments[1], "send") == 0) {
        send_file(arguments[2], arguments[3], arguments[4], (const char *const *)arguments + 5, count - 5);
    } else {
        fprintf(stderr, "usage: file both IN OUT | file serve OUT | file send ADDRESS PIN IN LINK...\n");
        return 2;
    }
    return 0;
}
