// RUN: npu-opt %s -t pl330-hex --verify-diagnostics --split-input-file | filecheck %s
// RUN: npu-opt %s -t pl330-asm --verify-diagnostics --split-input-file | filecheck %s

pl330.program @"a b" channel 0 {
  pl330.end
}
// CHECK: expected a name of letters, digits, '_', '$' and '.', got 'a b'
