// Package queuetest replaces the queue in tests: it has a store that fails on command in the ways in
// which a disk does, and a log that a test can read while the program writes it. Tests of a kitchen with a queue in it
// use the real one, in a folder of the test.
package queuetest
