package contract

import "fmt"

// MaxMemory is how much memory reading one request may take, as [Memory] estimates it. An order of 10,000
// items with ten fields each takes 15 MiB.
const MaxMemory = 32 << 20 // bytes

// Memory estimates how many bytes of memory a body takes once it is read, without reading it. Measured after
// [Open] on a 64-bit machine: 370 bytes for {"a":1}, 35 to 85 for any other value with its key. Planning adds
// a line for each item, and a copy if an expression is evaluated; garbage comes on top.
func Memory(body []byte) int64 {
	objects, values := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{':
			objects++
		case '[', ',':
			values++
		case '"': // text is not counted: go to its end
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		}
	}
	return int64(len(body) + 512*objects + 64*values)
}

// tooMuchMemory is the mismatch of a body whose many small values would take more than MaxMemory; nil if
// there is none. It is found before anything is built from the body: objects of two bytes take 200 times that.
func tooMuchMemory(body []byte) *Mismatch {
	if n := Memory(body); n > MaxMemory {
		return overLimit(FieldRecords, fmt.Sprintf(
			"so many values that reading them takes about %d MiB of memory; at most %d are allowed",
			n>>20, MaxMemory>>20))
	}
	return nil
}
