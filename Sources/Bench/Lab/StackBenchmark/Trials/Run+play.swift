extension Run {
    /// All trials that can be played, by name, each with the stacks that it is played with.
    public static func stacks(of trial: String) -> [String] {
        if trial == Floor.name { return [Floor.name] }
        let isMove = Trial.all.contains { $0.name == trial && $0.isMove }
        return StackName.allCases.filter { $0.spare == nil || isMove }.map(\.rawValue)
    }

    /// Plays one trial once, on this kernel.
    ///
    /// - Parameter number: of the run, from 0.
    public static func play(_ trial: String, stack: String, number: Int, time: Time) async -> Run {
        do {
            return Run(
                trial: trial, stack: stack, time: time,
                readings: try await readings(of: trial, stack: stack, number: number))
        } catch {
            return Run(trial: trial, stack: stack, time: time, failure: "\(error)")
        }
    }

    private static func readings(of trial: String, stack: String, number: Int) async throws -> [Reading] {
        if trial == Floor.name { return try await Floor.run() }
        guard let trial = Trial.all.first(where: { $0.name == trial }), let stack = StackName(rawValue: stack) else {
            throw LabError.unexpected("there is no trial “\(trial)”, or no stack “\(stack)”")
        }
        return try await trial.run(stack, number: number)
    }

    /// In a line, for whoever waits.
    public var summary: String {
        if let failure { return "failed: \(failure)" }
        return readings.map { reading in
            let unit = reading.figure.unit
            guard let value = reading.value else { return "\(reading.figure.rawValue) never" }
            return "\(reading.figure.rawValue) \(Summary.text(value, unit)) \(unit.rawValue)"
        }.sorted().joined(separator: ", ")
    }
}
