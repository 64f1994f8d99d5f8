import AgentModel
import AppProtocol
import Synchronization
import Testing

/// What is sealed opens once, for the device and the network that it was sealed for, while the key is there.
@Suite struct SealingTests {
    static let localKey = Secret(text: "0123456789abcdef")
    static let password = Secret(text: "correct horse")

    let device: DeviceKey
    let attic: SSID

    init() throws {
        device = try DeviceKey(deviceId: "bench-01", localKey: Self.localKey)
        attic = try SSID("Attic")
    }

    @Test(arguments: [8, 13, 63])
    func whatIsSealedOpens(length: Int) throws {
        let opener = SealOpener(device)
        let password = Secret(repeatElement(UInt8(ascii: " "), count: length))
        let sealed = try opener.key.seal(password, ssid: attic, for: device)
        #expect(try opener.open(sealed, ssid: attic) == password)
        #expect(sealed.box.count == SealedPassword.length)
    }

    /// SSIDs of bytes that are no text, of every length.
    @Test func anyNetworkWillDo() throws {
        let opener = SealOpener(device)
        for length in 1...32 {
            let ssid = try SSID(bytes: (0..<length).map { UInt8(255 - $0) })
            let sealed = try opener.key.seal(Self.password, ssid: ssid, for: device)
            #expect(try opener.open(sealed, ssid: ssid) == Self.password)
        }
    }

    @Test func aBoxOpensOnce() throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        _ = try opener.open(sealed, ssid: attic)
        #expect(code { try opener.open(sealed, ssid: attic) } == .sealUsed)
        #expect(try opener.open(opener.key.seal(Self.password, ssid: attic, for: device), ssid: attic) == Self.password)
        #expect(code { try opener.open(sealed, ssid: attic) } == .sealUsed)
    }

    @Test func aBoxOpensForItsNetworkOnly() throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        let other = try SSID("attic")
        #expect(code { try opener.open(sealed, ssid: other) } == .sealInvalid)
        // What failed to open is not used up.
        #expect(try opener.open(sealed, ssid: attic) == Self.password)
    }

    @Test func onlyTheOwnerCanSeal() throws {
        let opener = SealOpener(device)
        for other in [
            try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "0123456789abcdeg")),
            try DeviceKey(deviceId: "bench-02", localKey: Self.localKey),
        ] {
            let sealed = try opener.key.seal(Self.password, ssid: attic, for: other)
            #expect(code { try opener.open(sealed, ssid: attic) } == .sealInvalid)
        }
    }

    @Test func everyBitCounts() throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        for bit in 0..<8 * sealed.box.count {
            var box = sealed.box
            box[bit / 8] ^= 1 << (bit % 8)
            let bent = try #require(SealedPassword(keyId: sealed.keyId, box: box))
            #expect(code { try opener.open(bent, ssid: attic) } == .sealInvalid)
        }
        #expect(try opener.open(sealed, ssid: attic) == Self.password)
    }

    /// X25519 agrees on zeros with the points of small order and their other spellings (RFC 7748, clause 6.1), so that
    /// whoever has the local key would know what was sealed.
    @Test(arguments: [
        String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ec" + String(repeating: "ff", count: 30) + "7f", "ed" + String(repeating: "ff", count: 30) + "7f",
    ])
    func pointsOfSmallOrderAreRefused(hex: String) throws {
        let point = try #require(Hex.bytes(hex))
        let key = try #require(SealingKey(keyId: "point", publicKey: point))
        #expect(code { try key.seal(Self.password, ssid: attic, for: device) } == .sealInvalid)
        let opener = SealOpener(device)
        let recipient = try opener.key
        let box = point + (try HPKEByHand.seal(Self.password, ssid: attic, for: device, to: recipient, as: point))
        let sealed = try #require(SealedPassword(keyId: recipient.keyId, box: box))
        #expect(code { try opener.open(sealed, ssid: attic) } == .sealInvalid)
    }

    @Test(arguments: ["", "1234567", "with a line\nfeed", "café in the attic"])
    func onlyPasswordsAreSealed(text: String) throws {
        let key = try SealOpener(device).key
        #expect(code { try key.seal(Secret(text: text), ssid: attic, for: device) } == .invalidPassword)
    }

    @Test func equalPasswordsMakeDifferentBoxes() throws {
        let key = try SealOpener(device).key
        #expect(
            try key.seal(Self.password, ssid: attic, for: device).box
                != key.seal(Self.password, ssid: attic, for: device).box)
    }

    // MARK: Rotation

    @Test func aRestartForgetsWhatWasSealed() throws {
        let before = SealOpener(device)
        let sealed = try before.key.seal(Self.password, ssid: attic, for: device)
        _ = try before.open(sealed, ssid: attic)
        let after = SealOpener(device)
        #expect(code { try after.open(sealed, ssid: attic) } == .keyRotated)
        #expect(try after.key != before.key)
    }

    @Test func keysAgeAndHaveTheirGrace() throws {
        let clock = TestClock()
        let opener = SealOpener(device, now: clock.read)
        let first = try opener.key
        clock.advance(by: .seconds(ProtocolLimits.sealingKeyAge - 1))
        #expect(try opener.key == first)
        clock.advance(by: .seconds(1))
        let second = try opener.key
        #expect(second != first)
        #expect(try opener.open(first.seal(Self.password, ssid: attic, for: device), ssid: attic) == Self.password)
        clock.advance(by: .seconds(ProtocolLimits.sealingKeyGrace - 1))
        let late = try first.seal(Self.password, ssid: attic, for: device)
        #expect(try opener.open(late, ssid: attic) == Self.password)
        #expect(code { try opener.open(late, ssid: attic) } == .sealUsed)
        clock.advance(by: .seconds(1))
        #expect(code { try opener.open(late, ssid: attic) } == .keyRotated)
        #expect(try opener.key == second)
    }

    /// The grace runs from the end of a key's age, also where nobody asked in between.
    @Test func anIdleDeviceKeepsNoOldKey() throws {
        let clock = TestClock()
        let opener = SealOpener(device, now: clock.read)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        clock.advance(by: .seconds(ProtocolLimits.sealingKeyAge + ProtocolLimits.sealingKeyGrace))
        #expect(code { try opener.open(sealed, ssid: attic) } == .keyRotated)
    }

    @Test func keysWearOut() throws {
        let clock = TestClock()
        let opener = SealOpener(device, rotation: SealRotation(boxes: 3), now: clock.read)
        let first = try opener.key
        let opened = try (0..<3).map { _ in try first.seal(Self.password, ssid: attic, for: device) }
        for sealed in opened {
            #expect(try opener.key == first)
            _ = try opener.open(sealed, ssid: attic)
        }
        #expect(try opener.key != first)
        #expect(opened.allSatisfy { sealed in code { try opener.open(sealed, ssid: attic) } == .sealUsed })
        // What an app had under way still opens, as often again; not for ever.
        for _ in 0..<3 { _ = try opener.open(first.seal(Self.password, ssid: attic, for: device), ssid: attic) }
        let late = try first.seal(Self.password, ssid: attic, for: device)
        #expect(code { try opener.open(late, ssid: attic) } == .keyRotated)
    }

    @Test func whatDoesNotOpenWearsNoKeyOut() throws {
        let opener = SealOpener(device, rotation: SealRotation(boxes: 3))
        let first = try opener.key
        let stranger = try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "fedcba9876543210"))
        for _ in 0..<20 {
            let sealed = try first.seal(Self.password, ssid: attic, for: stranger)
            #expect(code { try opener.open(sealed, ssid: attic) } == .sealInvalid)
        }
        #expect(try opener.key == first)
    }

    /// Of many that open one box at the same time, one does.
    @Test func oneOfManyOpensABox() async throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        let codes = await withTaskGroup { group in
            for _ in 0..<16 { group.addTask { code { try opener.open(sealed, ssid: attic) } } }
            return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(codes.filter { $0 == .sealUsed }.count == 15)
    }
}

/// - Returns: how `body` failed, nil if it did not.
func code(_ body: () throws -> some Any) -> ErrorCode? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? ProtocolError)?.code ?? .internalError
    }
}

/// A clock that stands still until the test advances it.
private final class TestClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var read: @Sendable () -> ContinuousClock.Instant { { self.instant.withLock { $0 } } }

    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}
