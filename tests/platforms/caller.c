/* Calls `run` of DLLs as calls.bin says, and writes the file back as it is afterwards. Without a C library.

   int64 calls; then for each: char dll[64], char export[32]; int64 threads, status, threads made, words, addresses,
   bytes; its words; the numbers of those that are addresses, as offsets into its bytes; its bytes, on a page. */
typedef long long i64;
typedef unsigned int u32;
typedef unsigned char u8;
#define API __declspec(dllimport)
API void *CreateFileA(const char *, u32, u32, void *, u32, u32, void *);
API int ReadFile(void *, void *, u32, u32 *, void *);
API int WriteFile(void *, const void *, u32, u32 *, void *);
API u32 SetFilePointer(void *, u32, void *, u32);
API int GetFileSizeEx(void *, i64 *);
API void *VirtualAlloc(void *, i64, u32, u32);
API int VirtualProtect(void *, i64, u32, u32 *);
API u8 *LoadLibraryA(const char *);
API void *GetProcAddress(void *, const char *);
API void ExitProcess(u32);

typedef void *(*create)(void *, i64, void *, void *, u32, void *);
static create real;
static i64 made;

static void *counted(void *a, i64 size, void *work, void *context, u32 flags, void *id)
{
    made++;
    return real(a, size, work, context, flags, id);
}

/* Wherever the loader has put CreateThread's address into the image comes ours. */
static void count_threads(u8 *image)
{
    u32 size = *(u32 *)(image + *(u32 *)(image + 0x3c) + 0x50), before;
    for (u8 *at = image; at + 8 <= image + size; at += 8)
        if (*(create *)at == real) {
            VirtualProtect(at, 8, 4, &before);
            *(create *)at = counted;
        }
}

void start(void)
{
    i64 size = 0;
    u32 done;
    void *file = CreateFileA("calls.bin", 0xC0000000, 0, 0, 3, 0x80, 0);
    if (!GetFileSizeEx(file, &size))
        ExitProcess(10);
    u8 *data = VirtualAlloc(0, size, 0x3000, 4);
    if (!data || !ReadFile(file, data, size, &done, 0) || done != size)
        ExitProcess(11);
    real = (create)GetProcAddress(LoadLibraryA("kernel32.dll"), "CreateThread");
    u8 *at = data + 8;
    for (i64 k = 0; k < *(i64 *)data; k++) {
        i64 *head = (i64 *)(at + 96), *words = head + 6, *addresses = words + head[3];
        u8 *bytes = data + (((u8 *)(addresses + head[4]) - data + 4095) & -4096);
        for (i64 j = 0; j < head[4]; j++)
            words[addresses[j]] += (i64)bytes;
        u8 *dll = LoadLibraryA((char *)at);
        if (!dll)
            ExitProcess(20 + k);
        count_threads(dll);
        int (*run)(i64 *) = (int (*)(i64 *))GetProcAddress(dll, (char *)at + 64);
        int *threads = (int *)GetProcAddress(dll, "threads");
        if (!run || !threads)
            ExitProcess(50 + k);
        *threads = head[0];
        made = 0;
        head[1] = run(words);
        head[2] = made;
        at = bytes + head[5];
    }
    SetFilePointer(file, 0, 0, 0);
    ExitProcess(WriteFile(file, data, size, &done, 0) && done == size ? 0 : 12);
}
