//go:build !linux

package transport

import "os"

// The daemon is made for Linux; what follows lets it be tried elsewhere, with less care.

func undelivered(*os.File, bool) (int, error) { return 0, nil }
func rawLine(*os.File) (bool, error)          { return false, nil }
func drained(*os.File) error                  { return nil }
func discard(*os.File)                        {}
func release(*os.File)                        {}
func mute(*os.File) bool                      { return false }
