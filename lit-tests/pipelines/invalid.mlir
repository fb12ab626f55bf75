// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-bufferise)' 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not npu-opt %s -p 'npu-assign-sram-offsets{strategy=best}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not npu-opt %s -p 'npu-assign-sram-offsets{strateg=greedy}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not npu-opt %s -p 'func.func(cse)' 2>&1 | filecheck %s --check-prefix=ANCHOR

// PASS:   npu-opt: error: pass pipeline: unknown pass 'npu-bufferise': did you mean 'npu-bufferize'?
// VALUE:  npu-opt: error: pass npu-assign-sram-offsets: option strategy: expected one of greedy, exact, modules, ping-pong, none, got 'best'
// OPTION: npu-opt: error: pass npu-assign-sram-offsets: unknown option 'strateg': expected strategy
// ANCHOR: npu-opt: error: pass pipeline: unknown anchor 'func.func': expected passes on builtin.module
func.func @f() {
  func.return
}
