//go:build race

package escpos

const raceDetector = true
