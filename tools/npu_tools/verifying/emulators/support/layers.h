/* Included in front of every file if instructions of single layers are counted: the network's hook.
 * ID_ON_LAYER(index, name) is defined on the command line as board_layer(index). */
#ifndef LAYERS_H
#define LAYERS_H
#ifndef __ASSEMBLER__

/* A layer, or a part of one, is done: count what was carried out since the last call. */
void board_layer(int index);

/* Count from zero; measures what a call of board_layer takes itself, and starts the clock for it. */
void board_layers_reset(void);

/* Print a line with the instructions of each layer. */
void board_layers_print(void);

#endif
#endif
