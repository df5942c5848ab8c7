// Score computes a logistic model on records of 8 bytes under AES-CTR; the server sees neither records nor scores. It
// takes 17 GB of memory. A small run protects nothing: go run ./examples/score -set bgv/toy-4369 -log-n 12 -records 512
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/circuits/ckks/polynomial"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
	"github.com/tuneinsight/lattigo/v6/utils/bignum"
	homaes "homaes/interop/lattigo"
)

const bias, bound = -0.4, 8.0 // -bound < w.x + bias < bound
var w = [8]float64{0.009, -0.007, 0.005, -0.01, 0.004, 0.008, -0.006, 0.003}

func main() {
	command := flag.String("homaes", "homaes", "the command homaes")
	set := flag.String("set", "bgv/aes192+5", "parameter set of homaes")
	logN := flag.Int("log-n", 16, "log2 of Lattigo's ring degree")
	records := flag.Int("records", 4096, "number of records")
	flag.Parse()
	dir, run := workplace(*command)
	defer os.RemoveAll(dir)

	// Device: encrypts records with AES.
	aesKey, iv, message := random(16), random(16), random(*records*8)
	check(os.WriteFile(dir+"/m.aes", ctr(aesKey, iv, message), 0o600))

	// Owner: makes the keys of Lattigo and homaes, and the key from one to the other.
	lit, logSlots := bootstrapping.N16QP1547H192H32, *logN-1
	lit.SchemeParams.LogN, lit.BootstrappingParams.LogN, lit.BootstrappingParams.LogSlots = *logN, logN, &logSlots
	residual := must(ckks.NewParametersFromLiteral(lit.SchemeParams))
	params := must(bootstrapping.NewParametersFromLiteral(residual, lit.BootstrappingParams))
	keys, sk, err := params.GenEvaluationKeys(rlwe.NewKeyGenerator(residual).GenSecretKeyNew())
	check(err)
	run("keygen --set %s --out keys --bridge ckks --accept-insecure", *set)
	check(os.WriteFile(dir+"/aes.key", fmt.Appendf(nil, "%x", aesKey), 0o600))
	run("wrap-key --secret keys/secret.hsk --key-file aes.key --levels-left 11 -o key.hwk")
	link := must(homaes.ReadLink(dir + "/keys/link.key"))
	key := must(link.Key(params, sk))

	// Server: removes AES with homaes, moves the bytes to slots, computes the model.
	run("transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv %x"+
		" --to ckks --bridge keys/bridge.hbk -o m.hrl m.aes", iv)
	run("export --to lattigo %s -o m.lattigo m.hrl", homaes.ExportOptions(params))
	file := must(homaes.Read(dir + "/m.lattigo"))
	boot := must(bootstrapping.NewEvaluator(params, keys))
	eval, p, slots := boot.Evaluator, params.BootstrappingParameters, 1<<logSlots
	interval := bignum.Interval{Nodes: 31, A: *bignum.NewFloat(-bound, 128), B: *bignum.NewFloat(bound, 128)}
	poly := polynomial.NewPolynomial(bignum.ChebyshevApproximation(sigmoid, interval)) // takes x / bound
	wEven, wOdd := make([]float64, slots), make([]float64, slots)
	for s := range wEven { // a record takes 4 slots of even and 4 of odd
		wEven[s], wOdd[s] = w[2*(s%4)]/bound, w[2*(s%4)+1]/bound
	}
	for i := range file.Ciphertexts {
		even, odd, err := homaes.HalfBoot(boot, key, file, i)
		check(err)
		x := must(eval.MulNew(even, wEven))
		check(eval.MulThenAdd(odd, wOdd, x))
		check(eval.Rescale(x, x))
		check(eval.Add(x, must(eval.RotateNew(x, 1)), x))
		check(eval.Add(x, must(eval.RotateNew(x, 2)), x)) // slot 4r now has the sum of record r
		check(eval.Add(x, bias/bound, x))
		eval.DropLevel(x, x.Level()-residual.MaxLevel()-1) // polynomials need the primes of the residual parameters
		check(eval.SetScale(x, p.DefaultScale()))          // and their scale
		y := must(polynomial.NewEvaluator(p, eval).Evaluate(x, poly, p.DefaultScale()))

		// Owner: decrypts the scores.
		scores, n := make([]float64, slots), min(2*slots, len(message))
		check(ckks.NewEncoder(p).Decode(rlwe.NewDecryptor(p, sk).DecryptNew(y), scores))
		compare(scores, message[:n])
		message = message[n:]
	}
}
