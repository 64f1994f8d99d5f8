/// A decoder of outside bytes, and what must hold whatever it is given.
///
/// libFuzzer runs it for hours (`make fuzz`), and the unit tests run the same on its seeds and a few hundred inputs
/// made of them. A property that does not hold is a precondition that fails: for both, the end of the process.
public struct FuzzTarget: Sendable {
    public let name: String
    /// What it reads and who sends that, for the table in Docs/fuzzing.md.
    public let subject: String
    /// The longest input, in bytes: more than the decoder takes where that is little, else enough for all that it tells
    /// apart.
    public let longest: Int
    /// How many executions are to be reached in all (Docs/fuzzing.md).
    public let goal: Int
    /// What the fuzzer starts from: inputs that are taken.
    public let seeds: @Sendable () -> [[UInt8]]
    /// Sets up what all executions share, and returns what is done with each input. It is used by one thread.
    public let prepare: @Sendable () -> (_ input: [UInt8]) -> Void

    init(
        _ name: String, _ subject: String, longest: Int, goal: Int = 10_000_000,
        seeds: @escaping @Sendable () -> [[UInt8]] = { [] },
        preparing prepare: @escaping @Sendable () -> (_ input: [UInt8]) -> Void
    ) {
        (self.name, self.subject, self.longest, self.goal) = (name, subject, longest, goal)
        (self.seeds, self.prepare) = (seeds, prepare)
    }

    init(
        _ name: String, _ subject: String, longest: Int, goal: Int = 10_000_000,
        seeds: @escaping @Sendable () -> [[UInt8]] = { [] },
        check: @escaping @Sendable (_ input: [UInt8]) -> Void
    ) {
        self.init(name, subject, longest: longest, goal: goal, seeds: seeds, preparing: { check })
    }

    /// In the order in which they are run: first what anybody in radio range can send.
    public static let all: [FuzzTarget] = [
        informationElements, netlink, supplicant, dns, mdns, json, captive, webAnswer, portalPage, conversation,
        leaseNotes, tlsHello, appProtocol, words, codes, providerLines, settings, records, sealedExport, keyMedium,
        keyFile,
    ]
}
