package contract

import "embed"

//go:embed examples/*.json
var examples embed.FS

// Example is one of the print requests below, as a deployed service sends them. It panics on a
// name that is not there.
//
//	burger.json       modifiers in modifiers, a note, layout instructions
//	retry.json        the same request again, as a retry brings it
//	void.json         what was ordered is cancelled
//	bar.json          drinks for another printer, fractions, a refire
//	two-records.json  two records in one request
//	accents.json      names that no code page holds together
//	no-items.json     a record without items
func Example(name string) []byte {
	b, err := examples.ReadFile("examples/" + name)
	if err != nil {
		panic(err)
	}
	return b
}
