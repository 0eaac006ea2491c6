// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"io"
	"net/http"
)

// What a member may answer, in bytes, uncompressed. etcd takes no object of more
// than 1.5 MiB.
const (
	maxObject = 4 << 20
	maxList   = 64 << 20
	// maxStream is what one watch tells before it is begun anew: whoever lists
	// again forgets what is gone.
	maxStream = 256 << 20
	maxHeader = 256 << 10
)

// errTooLarge says that an answer is larger than any answer can be that is true.
var errTooLarge = errors.New("the answer is larger than an answer may be")

func isWatch(req *http.Request) bool {
	w := req.URL.Query().Get("watch")
	return w == "true" || w == "1"
}

// limitOf the answer to a request: of an object, or of all that are ours.
func limitOf(req *http.Request) int64 {
	if req.URL.Query().Has("labelSelector") {
		return maxList
	}
	return maxObject
}

// answer is the body of an answer. done is told once, when it was read or closed,
// whether it was whole.
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

// Close ends the reading; what was not read may have been endless.
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

// stream is the body of a watch: no event in it is larger than an object may be.
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

// frame measures the JSON values of a stream, one after the other. It needs to know
// no more of them than where they end.
type frame struct {
	left            int // bytes that the value may still have
	used            int
	depth           int
	text, backslash bool
}

// take is false once a value is too long.
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
