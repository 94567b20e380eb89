package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat, the same on every Linux that
// Go runs on.
const tick = 10 * time.Millisecond

// usage is what a process and all below it have used since they began, and the
// memory that they have now.
type usage struct {
	cpu      time.Duration
	resident float64 // bytes
}

func readUsage(pid int) (usage, error) {
	var u usage
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, fmt.Errorf("use of CPU (needs Linux): %w", err)
	}
	if u, err = parseStat(stat); err != nil {
		return u, fmt.Errorf("use of CPU by process %d: %w", pid, err)
	}
	lists, err := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	if err != nil {
		return u, err
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if os.IsNotExist(err) {
			continue // the thread has ended
		}
		if err != nil {
			return u, err
		}
		for _, field := range strings.Fields(string(text)) {
			below, err := strconv.Atoi(field)
			if err != nil {
				return u, err
			}
			more, err := readUsage(below)
			if err != nil {
				return u, err
			}
			u.cpu += more.cpu
			u.resident += more.resident
		}
	}
	return u, nil
}

// parseStat reads a line of /proc/PID/stat, see proc_pid_stat(5).
func parseStat(line []byte) (usage, error) {
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	const state, utime, stime, rss = 3, 14, 15, 24
	if len(fields) <= rss-state {
		return usage{}, fmt.Errorf("%d fields in %q", len(fields), line)
	}
	var numbers [3]int64
	for i, at := range []int{utime, stime, rss} {
		n, err := strconv.ParseInt(string(fields[at-state]), 10, 64)
		if err != nil {
			return usage{}, err
		}
		numbers[i] = n
	}
	return usage{
		cpu:      time.Duration(numbers[0]+numbers[1]) * tick,
		resident: float64(numbers[2]) * float64(os.Getpagesize()),
	}, nil
}
