/* ctrl_c MILLISECONDS PROGRAM [ARGUMENT]…: runs a program in a console of its own, types Ctrl-C into
 * it after that time, and ends with the program's exit code. For tests on Windows. */
#include <process.h>
#include <stdlib.h>
#include <windows.h>

static BOOL WINAPI pass_over(DWORD event) {
  (void)event;
  return TRUE;
}

int main(int count, char **words) {
  int code = 1;
  intptr_t child;
  if (count < 3) return 2;
  FreeConsole();
  if (!AllocConsole() || !SetConsoleCtrlHandler(pass_over, TRUE)) return 3;
  child = _spawnv(_P_NOWAIT, words[2], (const char *const *)words + 2);
  if (child == -1) return 4;
  Sleep((DWORD)atoi(words[1]));
  if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return 5;
  return _cwait(&code, child, 0) == -1 ? 6 : code;
}
