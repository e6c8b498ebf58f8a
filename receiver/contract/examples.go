package contract

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.json
var examples embed.FS

// Examples holds print requests as a deployed service sends them, one file each:
//
//	burger.json       modifiers in modifiers, a note, layout instructions
//	retry.json        the same request again, as a retry brings it
//	void.json         what was ordered is cancelled
//	bar.json          drinks for another printer, fractions, a refire
//	two-records.json  two records in one request
//	accents.json      names that no code page holds together
//	no-items.json     a record without items
func Examples() fs.FS {
	sub, err := fs.Sub(examples, "examples")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}

// Example is one of [Examples] by its file name. It panics on a name that is not there.
func Example(name string) []byte {
	b, err := fs.ReadFile(Examples(), name)
	if err != nil {
		panic(err)
	}
	return b
}
