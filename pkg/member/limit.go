// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"io"
	"net/http"
)

// The maximum size of a member's answers, in bytes, uncompressed. etcd stores no object
// of more than 1.5 MiB.
const (
	maxObject = 4 << 20
	maxList   = 64 << 20
	// maxStream is how much one watch may send before it is restarted with a new list,
	// so that objects which are gone are forgotten.
	maxStream = 256 << 20
	maxHeader = 256 << 10
)

// errTooLarge says that an answer is larger than any genuine answer can be.
var errTooLarge = errors.New("the answer is larger than an answer may be")

func isWatch(req *http.Request) bool {
	w := req.URL.Query().Get("watch")
	return w == "true" || w == "1"
}

// limitOf returns the limit for the answer to a request: for one object, or for a list
// of Sluice's objects.
func limitOf(req *http.Request) int64 {
	if req.URL.Query().Has("labelSelector") {
		return maxList
	}
	return maxObject
}

// answer is the body of an answer. When it was read or closed, done is called once,
// with the error if reading failed.
type answer struct {
	body io.ReadCloser
	left int64
	err  error
	done func(error)
}

func (a *answer) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	if int64(len(p)) > a.left+1 {
		p = p[:a.left+1]
	}
	n, err := a.body.Read(p)
	if a.left -= int64(n); a.left < 0 {
		n, err = 0, errTooLarge
	}
	if err != nil {
		a.err = err
		if errors.Is(err, io.EOF) {
			err = nil
		}
		a.finish(err)
		if a.err == io.EOF { //nolint:errorlint // the very value: readers compare it
			return n, io.EOF
		}
	}
	return n, a.err
}

// Close closes the body. The rest is not read, since it may be endless.
func (a *answer) Close() error {
	err := a.body.Close()
	a.finish(nil)
	return err
}

func (a *answer) finish(err error) {
	if a.done != nil {
		a.done(err)
		a.done = nil
	}
}

// stream is the body of a watch. An event in it has the same maximum size as an object.
type stream struct {
	body  io.ReadCloser
	left  int64
	frame frame
	done  func()
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if s.left -= int64(n); s.left < 0 || !s.frame.take(p[:n]) {
		return 0, errTooLarge
	}
	return n, err
}

func (s *stream) Close() error {
	defer s.done()
	return s.body.Close()
}

// frame finds the ends of the JSON values in a stream, to measure their sizes. It does
// not decode them.
type frame struct {
	left            int // bytes that the value may still have
	used            int
	depth           int
	text, backslash bool
}

// take returns false once a value is too long.
func (f *frame) take(p []byte) bool {
	for _, c := range p {
		f.used++
		switch {
		case f.backslash:
			f.backslash = false
		case f.text && c == '\\':
			f.backslash = true
		case c == '"':
			f.text = !f.text
		case f.text:
		case c == '{', c == '[':
			f.depth++
		case c == '}', c == ']':
			if f.depth--; f.depth <= 0 {
				f.depth, f.used = 0, 0
			}
		}
		if f.used > f.left {
			return false
		}
	}
	return true
}
