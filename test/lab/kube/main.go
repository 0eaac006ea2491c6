// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//go:build kube

// Command kube is every program that a cluster without containers needs, in
// one binary: they share most of their packages, so one of it is smaller and
// sooner built than six.
//
//	kube etcd|apiserver|kcm|scheduler|kwok|kubectl [flags]
//
// Each program is the published module's own command, with its own flags.
// Under the name kubectl (a link) it is kubectl, which is not throttled.
//
// It needs the build tag kube, lest go test ./... or go vet ./... compile
// Kubernetes once more, with flags of their own. build.sh builds it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	etcd "go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

func main() {
	if filepath.Base(os.Args[0]) != "kubectl" {
		if len(os.Args) < 2 {
			usage()
		}
		os.Args = os.Args[1:] // each program reads os.Args itself
	}
	switch os.Args[0] {
	case "etcd":
		etcd.Main(os.Args)
	case "apiserver":
		serve(apiserver.NewAPIServerCommand())
	case "kcm":
		// Clients name themselves by their program: as what writes an object, too.
		os.Args[0] = "kube-controller-manager"
		serve(kcm.NewControllerManagerCommand())
	case "scheduler":
		serve(scheduler.NewSchedulerCommand())
	case "kwok":
		runKwok()
	default:
		if filepath.Base(os.Args[0]) != "kubectl" {
			usage()
		}
		runKubectl()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kube etcd|apiserver|kcm|scheduler|kwok|kubectl [flags]")
	os.Exit(2)
}

func serve(c *cobra.Command) { os.Exit(cli.Run(c)) }

func runKubectl() {
	// The commands log while they are built, before any flag is parsed.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		kubectlutil.CheckErr(err)
	}
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).
		WithWarningPrinter(streams).WithWrapConfigFn(hurried)
	err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     os.Args,
		ConfigFlags:   flags,
		IOStreams:     streams,
	}))
	if err != nil {
		kubectlutil.CheckErr(err)
	}
}

// hurried lets kubectl ask as fast as the API server answers, which has queues of its
// own for who asks too much. Five requests a second, its default, are half a minute
// for the manifests of Sluice.
func hurried(c *rest.Config) *rest.Config {
	c.QPS = -1
	return c
}

// runKwok does without cli.Run and without cobra's --version, which clashes
// with the flag of that name that the other programs register globally. Log
// level and config files reach kwok by the context, so they are read before
// the command exists.
func runKwok() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fs := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.Usage = func() {}
	ctx, _ = kwoklog.InitFlags(ctx, fs)
	ctx, err := kwokconfig.InitFlags(ctx, fs)
	if err == nil {
		c := kwok.NewCommand(ctx)
		c.Version = ""
		c.PersistentFlags().AddFlagSet(fs)
		err = c.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}
