package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// compare prints the first score and the largest difference between scores and the model in the clear.
func compare(scores []float64, records []byte) {
	plain, worst := make([]float64, len(records)/8), 0.0
	for r := range plain {
		sum := bias
		for j, b := range records[8*r : 8*r+8] {
			sum += w[j] * float64(b)
		}
		plain[r] = sigmoid(sum)
		worst = max(worst, math.Abs(scores[4*r]-plain[r]))
	}
	fmt.Printf("%d records: first score %.5f, in the clear %.5f; largest difference %.6f\n",
		len(plain), scores[0], plain[0], worst)
}

func random(n int) []byte {
	data := make([]byte, n)
	must(rand.Read(data))
	return data
}

// ctr encrypts data with AES-CTR.
func ctr(key, iv, data []byte) []byte {
	out := make([]byte, len(data))
	cipher.NewCTR(must(aes.NewCipher(key)), iv).XORKeyStream(out, data)
	return out
}

// workplace makes a temporary folder and returns a function that runs the command homaes there.
func workplace(command string) (dir string, run func(format string, args ...any)) {
	command = must(filepath.Abs(must(exec.LookPath(command))))
	dir = must(os.MkdirTemp("", "score"))
	return dir, func(format string, args ...any) {
		c := exec.Command(command, strings.Fields(fmt.Sprintf(format, args...))...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			log.Fatalf("%s: %v\n%s\nfiles are in %s", c, err, out, dir)
		}
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
