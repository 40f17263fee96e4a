// Package shelf finds the kernels on this computer, in the layout of scripts/fetch-kernel:
// FOLDER/RELEASE/vmlinuz, and vmlinux where lines are known.
//
// What it is: the folder, its contents, and the lookup of a file by its digest.
//
// What it is not: it opens no kernel and downloads nothing.
//
// Its rule: a release may come from a stranger's trace. It is compared with the names of existing
// folders, and never made part of a path.
package shelf
