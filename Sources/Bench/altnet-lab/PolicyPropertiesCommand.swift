import ArgumentParser
import PolicyProperties

struct PolicyPropertiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture-policy",
        abstract: "Searches for a history in which the failover policy breaks a promise.",
        discussion: """
            Runs the policy through random histories. Hostile histories have any event at any time and clocks that \
            jump, and half of them have a handover to a second link. Plausible histories have access points that come \
            and go, and every request gets an answer. Near-equal histories are eight hours among networks of nearly \
            the same signal. The command shortens the first history that breaks a promise as far as possible, and \
            prints it.
            """)

    @Option(help: "Hostile and plausible histories, of each kind.")
    var sequences = 1_000_000

    @Option(help: "Near-equal histories.")
    var nearEquals = 1000

    @Option(help: "The seed: the same number gives the same histories.")
    var seed: UInt64 = 1

    @OptionGroup
    private var parallel: JobsOption

    @Option(help: "Run only this kind of history.")
    var only: Campaign?

    @Flag(help: "Print a hash of all actions of the policy. It is the same in every run.")
    var digest = false

    func validate() throws {
        if !(1...1_000_000_000).contains(sequences) { throw ValidationError("--sequences must be 1 to 1000000000") }
        if !(1...1_000_000).contains(nearEquals) { throw ValidationError("--near-equals must be 1 to 1000000") }
    }

    func run() async throws {
        if digest {
            let sum = (0..<UInt64(min(sequences, 1000))).reduce(0) { $0 &* 31 &+ Campaign.digest(seed: seed &+ $1) }
            print(String(sum, radix: 16))
            return
        }
        do {
            for campaign in only.map({ [$0] }) ?? Campaign.allCases { try await run(campaign) }
        } catch let failure as Campaign.Failure {
            print("FAILED: \(failure)")
            throw ExitCode(1)
        }
    }

    private func run(_ campaign: Campaign) async throws {
        let start = ContinuousClock.now
        let count = campaign == .nearEquals ? nearEquals : sequences
        let worst = try await withThrowingTaskGroup(of: Campaign.Worst.self) { group in
            for job in 0..<parallel.jobs {
                let seeds = stride(from: job, to: count, by: parallel.jobs)
                group.addTask { [seed] in try campaign.run(seeds: seeds.lazy.map { seed &+ UInt64($0) }) }
            }
            return try await group.reduce(into: Campaign.Worst()) { $0 += $1 }
        }
        let seconds = (ContinuousClock.now - start).components.seconds
        print("\(campaign.rawValue): \(worst.histories) histories in \(seconds) s")
        switch campaign {
        case .hostile:
            for situation in Situation.allCases {
                print("  with \(situation.rawValue): \(worst.situations[situation, default: 0])")
            }
            print(
                "  longest offline in the calm that follows:",
                text(worst.strandedAfterFailures, Bounds.onlineAfterFailures))
        case .plausible:
            print("  longest offline with a sound access point in range:", text(worst.stranded, Bounds.online))
            print(
                "  longest offline with a usable access point in range:",
                text(worst.strandedAfterFailures, Bounds.onlineAfterFailures))
            print(
                "  longest without internet with a sound access point in range:",
                text(worst.withoutInternet, Bounds.validated))
            print("  longest from a command to its outcome:", text(worst.outcome, Bounds.outcome))
        case .nearEquals:
            let hours = worst.hours.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
            print("  hours by number of switches: \(hours)")
        }
    }

    private func text(_ longest: Duration, _ bound: Duration) -> String { "\(longest) of at most \(bound)" }
}

extension Campaign: ExpressibleByArgument {}
