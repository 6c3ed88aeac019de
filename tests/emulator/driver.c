/* A libcuda.so.1 that counts devices and names errors: what is asked before CuPy is imported. It is no driver; it
   proves nothing about one. Devices and version come from the environment: see environment.py. */

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int started;

EXPORT int cuInit(unsigned flags) {
    if (flags) return 1;
    if (setting("EMULATED_HANG", 0)) sleep(setting("EMULATED_HANG", 0));
    if (!setting("EMULATED_DEVICES", 1)) return 100;
    started = 1;
    return 0;
}

EXPORT int cuDeviceGetCount(int *count) {
    if (!started) return 3;
    *count = setting("EMULATED_DEVICES", 1);
    return 0;
}

EXPORT int cuDriverGetVersion(int *version) {
    *version = setting("EMULATED_DRIVER", 12090);
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    if (!started) return 3;
    if (ordinal < 0 || ordinal >= setting("EMULATED_DEVICES", 1)) return 101;
    *device = ordinal;
    return 0;
}

/* Handles as tests/emulator/cupy/_machine.py counts them. */
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = (void *)(0x100L + device);
    return 0;
}

/* A compiler that refuses everything, and says so where option 5, of the size of option 6, points to. */
EXPORT int cuModuleLoadDataEx(void **module, const char *image, unsigned count, int *options, void **values) {
    char *log = 0;
    size_t size = 0;
    for (unsigned k = 0; k < count; k++) {
        if (options[k] == 5) log = values[k];
        if (options[k] == 6) size = (size_t)values[k];
    }
    if (log) snprintf(log, size, "ptxas application ptx input, line 1; fatal : %.20s", image);
    return 218;
}

/* A linker whose product is what it was given, behind a line that says whether it was to keep the lines (option 13):
   the module that CuPy's stand-in loads. It takes PTX alone, which is 1, that ends in a zero. */
struct link { int lines; char *made; size_t size; };

EXPORT int cuLinkCreate_v2(unsigned count, int *options, void **values, struct link **state) {
    if (!started) return 3;
    *state = calloc(1, sizeof **state);
    for (unsigned k = 0; k < count; k++)
        if (options[k] == 13) (*state)->lines = values[k] != 0;
    return 0;
}

EXPORT int cuLinkAddData_v2(struct link *state, int kind, const char *data, size_t size, const char *name,
                            unsigned count, int *options, void **values) {
    if (kind != 1 || count || state->made) return 1;
    if (!size || data[size - 1] || !strstr(data, ".version")) return 218;
    const char *head = state->lines ? "// with lines\n" : "// without lines\n";
    state->size = strlen(head) + size;
    state->made = malloc(state->size);
    memcpy(state->made, head, strlen(head));
    memcpy(state->made + strlen(head), data, size);
    return 0;
}

EXPORT int cuLinkComplete(struct link *state, void **made, size_t *size) {
    if (!state->made) return 1;
    *made = state->made;
    *size = state->size;
    return 0;
}

EXPORT int cuLinkDestroy(struct link *state) {
    if (state->made) memset(state->made, 0, state->size);
    free(state->made);
    free(state);
    return 0;
}

EXPORT int cuModuleUnload(void *module) { return 0; }

EXPORT int cuGetErrorName(int status, const char **name) {
    *name = status == 1 ? "CUDA_ERROR_INVALID_VALUE" : status == 3 ? "CUDA_ERROR_NOT_INITIALIZED"
            : status == 100 ? "CUDA_ERROR_NO_DEVICE" : 0;
    return *name ? 0 : 1;
}
