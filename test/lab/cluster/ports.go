// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// Ports are the loopback ports of a cluster, chosen once.
type Ports struct {
	Etcd     int `json:"etcd"`
	EtcdPeer int `json:"etcdPeer"`
	API      int `json:"api"`
}

// Ports are taken from below the range that the kernel hands out to clients
// (32768 and up): a stopped member's port must still be free when it returns.
const firstPort, endPort, blockSize = 20000, 30000, 500

// block is the first of those ports that this process chooses from, as long as it runs:
// labs that start at the same time would else find the same port free, which is taken
// only when its component listens. A name in the kernel says whose the block is.
var block = sync.OnceValues(func() (int, error) {
	name, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("claim a block of ports: %w", err)
	}
	for range 1000 {
		n := rand.IntN((endPort - firstPort) / blockSize)
		if err = syscall.Bind(name, &syscall.SockaddrUnix{Name: fmt.Sprintf("@sluice-lab-ports-%d", n)}); err == nil {
			return firstPort + n*blockSize, nil // the process ends, and with it the claim
		}
	}
	return 0, fmt.Errorf("claim a block of ports: %w", err)
})

// ChoosePorts finds free ports that are not in taken, and adds them to it.
func ChoosePorts(taken map[int]bool) (Ports, error) {
	var p Ports
	for _, port := range []*int{&p.Etcd, &p.EtcdPeer, &p.API} {
		n, err := freePort(taken)
		if err != nil {
			return Ports{}, err
		}
		taken[n] = true
		*port = n
	}
	return p, nil
}

func freePort(taken map[int]bool) (int, error) {
	first, err := block()
	if err != nil {
		return 0, err
	}
	var errs []error
	for range 100 {
		n := first + rand.IntN(blockSize)
		if taken[n] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return n, l.Close()
	}
	return 0, fmt.Errorf("find a free port: %w", errors.Join(errs...))
}
