// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//go:build kube

// Command node is what a node with containers needs besides the programs of
// kube: kubelet and kube-proxy, for test/knative.
//
//	node kubelet|proxy [flags]
//
// It is a part of this module, so that Kubernetes is compiled once for both,
// and a binary of its own, so that the lab is not kept waiting for it.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	os.Args = os.Args[1:] // each program reads os.Args itself
	switch os.Args[0] {
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "proxy":
		os.Exit(cli.Run(proxy.NewProxyCommand()))
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: node kubelet|proxy [flags]")
	os.Exit(2)
}
