package contract

import "embed"

//go:embed examples/*.json
var examples embed.FS

// Example returns one of the print requests below, as a deployed service sends them. It panics if
// there is no such file.
//
//	burger.json       modifiers in modifiers, a note, layout instructions
//	retry.json        the same request as a retry: only retryCount and timestamps differ
//	void.json         an item of an earlier order is cancelled
//	bar.json          drinks for another printer, fractions, a refire
//	two-records.json  two records in one request
//	accents.json      letters that no single code page contains
//	no-items.json     a record without items
func Example(name string) []byte {
	b, err := examples.ReadFile("examples/" + name)
	if err != nil {
		panic(err)
	}
	return b
}
