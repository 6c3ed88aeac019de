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

EXPORT int cuModuleUnload(void *module) { return 0; }

EXPORT int cuGetErrorName(int status, const char **name) {
    *name = status == 1 ? "CUDA_ERROR_INVALID_VALUE" : status == 3 ? "CUDA_ERROR_NOT_INITIALIZED"
            : status == 100 ? "CUDA_ERROR_NO_DEVICE" : 0;
    return *name ? 0 : 1;
}
