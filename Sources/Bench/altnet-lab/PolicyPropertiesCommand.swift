import ArgumentParser
import PolicyProperties

struct PolicyPropertiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture-policy", abstract: "Looks for a history in which the failover policy does wrong.",
        discussion: """
            Random histories, hostile ones (anything at any moment, clocks that jump, every other one about the \
            handover to a link beside the one in use) and plausible ones (access \
            points that come and go, everything answered), in each of which what the policy promises must hold. The \
            first that breaks a promise is shrunk to the shortest one that does, and told.
            """)

    @Option(help: "How many histories of each kind.")
    var sequences = 1_000_000

    @Option(help: "Where the randomness starts: the same number gives the same histories.")
    var seed: UInt64 = 1

    @OptionGroup
    private var parallel: JobsOption

    @Option(help: "Only this kind of history.")
    var only: Campaign?

    @Flag(help: "Print a number made of all that the policy wanted: the same in every run.")
    var digest = false

    func validate() throws {
        if !(1...1_000_000_000).contains(sequences) { throw ValidationError("run 1 to 1000000000 sequences") }
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
        // A history of near-equal access points lasts eight hours.
        let count = campaign == .nearEquals ? max(1, sequences / 1000) : sequences
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
        case .plausible:
            print("  longest offline with a usable network in range: \(worst.stranded)")
            print("  longest without internet with a sound network in range: \(worst.withoutInternet)")
            print("  longest from a command to its outcome: \(worst.outcome)")
        case .nearEquals:
            let hours = worst.hours.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
            print("  hours by number of switches: \(hours)")
        }
    }
}

extension Campaign: ExpressibleByArgument {}
