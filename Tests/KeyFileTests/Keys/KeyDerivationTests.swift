import AgentModel
import Crypto
import Testing

@testable import KeyFile

@Suite struct KeyDerivationTests {
    /// RFC 6070.
    @Test(arguments: [
        ("password", "salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
        ("password", "salt", 4096, "4b007901b765489abead49d926f721d065a429c1"),
        (
            "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096,
            "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"
        ),
    ])
    func passphrasesAreHashedWithSHA1(passphrase: String, salt: String, rounds: Int, key: String) {
        let derive = derived(key.count / 2) { PBKDF2<Insecure.SHA1>.derive($0, from: $1, salt: $2, rounds: rounds) }
        #expect(derive(passphrase, salt) == key)
    }

    /// RFC 7914, clause 11: two blocks.
    @Test func passphrasesAreHashedWithSHA256() {
        let key =
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
            + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
        let derive = derived(64) { PBKDF2<SHA256>.derive($0, from: $1, salt: $2, rounds: 1) }
        #expect(derive("passwd", "salt") == key)
    }

    /// RFC 7914, clause 12.
    @Test(arguments: [
        (
            "", "", Scrypt(rounds: 16, blockSize: 1, parallelism: 1),
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
                + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
        ),
        (
            "password", "NaCl", Scrypt(rounds: 1024, blockSize: 8, parallelism: 16),
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
                + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
        ),
        (
            "pleaseletmein", "SodiumChloride", Scrypt(rounds: 16384, blockSize: 8, parallelism: 1),
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
        ),
    ])
    func guessingTakesMemory(passphrase: String, salt: String, scrypt: Scrypt, key: String) {
        var bytes = [UInt8](repeating: 0, count: 64)
        let isDone = Array(salt.utf8).withUnsafeBytes { salt in
            Secret(text: passphrase).withBytes { passphrase in
                bytes.withUnsafeMutableBytes { scrypt.derive($0, from: passphrase, salt: salt) }
            }
        }
        #expect(isDone)
        #expect(Hex.string(bytes) == key)
    }

    /// Calls `derive` with room for so many bytes, the passphrase and the salt.
    private func derived(
        _ count: Int,
        _ derive: @escaping (UnsafeMutableRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) -> (_ passphrase: String, _ salt: String) -> String {
        { passphrase, salt in
            var bytes = [UInt8](repeating: 0, count: count)
            Array(passphrase.utf8).withUnsafeBytes { passphrase in
                Array(salt.utf8).withUnsafeBytes { salt in
                    bytes.withUnsafeMutableBytes { derive($0, passphrase, salt) }
                }
            }
            return Hex.string(bytes)
        }
    }
}
