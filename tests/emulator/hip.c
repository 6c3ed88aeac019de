/* A libamdhip64.so.6 that counts devices and names errors: what is asked before CuPy is imported. It is no runtime; it
   proves nothing about one. Devices come from the environment: see environment.py. */

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int hipGetDeviceCount(int *count) {
    const char *text = getenv("EMULATED_DEVICES");
    *count = text ? atoi(text) : 1;
    return *count < 0 ? 3 : *count ? 0 : 100;
}

EXPORT int hipRuntimeGetVersion(int *version) {
    *version = 60443484;
    return 0;
}

EXPORT const char *hipGetErrorName(int status) {
    return status == 3 ? "hipErrorNotInitialized" : status == 100 ? "hipErrorNoDevice" : 0;
}
