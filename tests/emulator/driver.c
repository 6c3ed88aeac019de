/* A libcuda.so.1 that counts devices and names errors: what is asked before CuPy is imported. It is no driver; it
   proves nothing about one. Devices and version come from the environment: see environment.py. */

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int started;

EXPORT int cuInit(unsigned flags) {
    if (flags) return 1;
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

EXPORT int cuGetErrorName(int status, const char **name) {
    *name = status == 1 ? "CUDA_ERROR_INVALID_VALUE" : status == 3 ? "CUDA_ERROR_NOT_INITIALIZED"
            : status == 100 ? "CUDA_ERROR_NO_DEVICE" : 0;
    return *name ? 0 : 1;
}
