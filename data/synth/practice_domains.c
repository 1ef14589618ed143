#include "data/synth/practice_domains.h"

#include <stdlib.h>
#include <string.h>

#define TABLE(name, plural, one, two)                                                                                  \
    name, plural,                                                                                                      \
    {                                                                                                                  \
        one, two                                                                                                       \
    }
#define COLUMN(name, role, one, two, values, table)                                                                    \
    {                                                                                                                  \
        name, role, { one, two }, values, table                                                                        \
    }
#define KEY(name) COLUMN(name, PRACTICE_KEY, 0, 0, 0, 0)
#define LINK(name, table) COLUMN(name, PRACTICE_LINK, 0, 0, 0, table)
#define NAME(name, one, two, values) COLUMN(name, PRACTICE_NAME, one, two, values, 0)
#define CLASS(name, one, two, values) COLUMN(name, PRACTICE_CLASS, one, two, values, 0)
#define NUMBER(name, one, two, values) COLUMN(name, PRACTICE_NUMBER, one, two, values, 0)
#define TIME(name, one, two, values) COLUMN(name, PRACTICE_TIME, one, two, values, 0)

/* Places in a town. */
static const struct practice_domain practice_domains_town[] = {
    { "library",
      {
          { TABLE("author", "authors", "writer", "book_author"),
            {
                KEY("author_id"),
                NAME("name", "full_name", "known_as", "Ines Falk|Tom Reed|Aiko Mori|Paul Lang|Vera Holt"),
                CLASS("country", "nation", "home_country", "Japan|Norway|Chile"),
                TIME("birth_year", "year_of_birth", "born_in", "1951|1962|1938|1977|1984"),
            } },
          { TABLE("book", "books", "volume", "library_book"),
            {
                KEY("book_id"),
                NAME("title", "heading", "book_title", "Salt|Low Tide|The Orchard|Glass Hours|Nine Doors|Ferns"),
                CLASS("genre", "category", "literary_genre", "poetry|crime|history"),
                NUMBER("pages", "page_count", "length", "212|148|390|276|501|95"),
                TIME("year", "calendar_year", "published_in", "1999|2004|2011|2017|2020|2022"),
                LINK("author_id", "author"),
            } },
          { TABLE("loan", "loans", "borrowing", "book_loan"),
            {
                KEY("loan_id"),
                LINK("book_id", "book"),
                CLASS("reader", "borrower", "reader_name", "Ada|Bruno|Carla|Dimitri"),
                TIME("loan_date", "lending_day", "date_of_loan", "2023-01-14|2023-02-02|2023-03-21|2023-05-09"),
                NUMBER("fine", "late_fee", "fine_due", "0|1.5|3|0.5|12"),
            } },
      } },
    { "clinic",
      {
          { TABLE("doctor", "doctors", "physician", "clinic_doctor"),
            {
                KEY("doctor_id"),
                NAME("name", "full_name", "known_as", "Dr Amsel|Dr Bosch|Dr Costa|Dr Dahl"),
                CLASS("specialty", "field", "medical_specialty", "cardiology|pediatrics|surgery"),
                NUMBER("salary", "pay", "wage", "91000|78000|120500|84000"),
            } },
          { TABLE("patient", "patients", "sick_person", "clinic_patient"),
            {
                KEY("patient_id"),
                NAME("surname", "last_name", "family_name", "Olsen|Petit|Quist|Rossi|Silva|Tran"),
                NUMBER("age", "years_old", "age_in_years", "34|71|8|52|45|19"),
                CLASS("city", "town", "home_city", "Lund|Ghent|Porto"),
                CLASS("insurance", "cover", "insurance_plan", "public|private"),
            } },
          { TABLE("visit", "visits", "consultation", "patient_visit"),
            {
                KEY("visit_id"),
                LINK("doctor_id", "doctor"),
                LINK("patient_id", "patient"),
                TIME("visit_date", "day", "date_of_visit", "2022-04-03|2022-06-18|2022-09-27|2023-01-05"),
                CLASS("diagnosis", "finding", "diagnosis_made", "flu|fracture|migraine|allergy"),
                NUMBER("cost", "price", "cost_charged", "80|240|65|130"),
            } },
      } },
    { "bakery",
      {
          { TABLE("bread", "breads", "loaf", "bread_product"),
            {
                KEY("bread_id"),
                NAME("name", "label", "product_name", "Rye Round|Oat Crown|Plain White|Seed Bar|Olive Twist"),
                CLASS("flour", "grain", "flour_type", "rye|wheat|spelt"),
                NUMBER("weight", "mass", "weight_grams", "750|500|400|900|350"),
                NUMBER("price", "cost", "price_tag", "4.2|3.5|2.1|5|3.9"),
            } },
          { TABLE("baker", "bakers", "bread_maker", "kitchen_baker"),
            {
                KEY("baker_id"),
                NAME("name", "full_name", "known_as", "Mia|Noel|Oskar|Pia"),
                CLASS("shift", "working_hours", "shift_time", "night|morning"),
                TIME("hire_year", "start_year", "hired_in", "2012|2016|2019|2021"),
            } },
          { TABLE("batch", "batches", "oven_load", "bread_batch"),
            {
                KEY("batch_id"),
                LINK("bread_id", "bread"),
                LINK("baker_id", "baker"),
                TIME("baking_date", "day", "date_baked", "2024-02-01|2024-02-02|2024-02-03|2024-02-04"),
                NUMBER("quantity", "amount", "quantity_made", "40|65|28|90|52"),
            } },
      } },
    { "museum",
      {
          { TABLE("artist", "artists", "painter", "art_maker"),
            {
                KEY("artist_id"),
                NAME("name", "full_name", "known_as", "Lena Ott|Remy Duval|Sol Vega|Kuno Brandt"),
                CLASS("style", "manner", "art_style", "cubist|baroque|modern"),
                TIME("birth_year", "year_of_birth", "born_in", "1841|1902|1655|1930"),
            } },
          { TABLE("painting", "paintings", "picture", "painted_work"),
            {
                KEY("painting_id"),
                NAME("title", "heading", "painting_title", "Blue Gate|Harvest|The Quarrel|Still Lake|Night Tram"),
                NUMBER("width", "breadth", "width_cm", "120|85|60|210|44"),
                NUMBER("value", "worth", "estimated_value", "14000|9500|220000|48000|3100"),
                CLASS("material", "medium", "paint_material", "oil|tempera|acrylic"),
                LINK("artist_id", "artist"),
            } },
          { TABLE("exhibition", "exhibitions", "show", "art_exhibition"),
            {
                KEY("exhibition_id"),
                NAME("theme", "topic", "theme_name", "Water|City Life|Portraits|Silence"),
                TIME("opening_date", "start_day", "opened_on", "2021-03-01|2021-09-15|2022-05-20|2023-11-02"),
                NUMBER("visitors", "attendance", "visitor_count", "1200|5400|880|3100"),
                LINK("painting_id", "painting"),
            } },
      } },
    { "school",
      {
          { TABLE("teacher", "teachers", "instructor", "school_teacher"),
            {
                KEY("teacher_id"),
                NAME("name", "full_name", "known_as", "Ms Abel|Mr Brook|Ms Chen|Mr Diaz"),
                NUMBER("age", "years_old", "age_in_years", "41|33|58|29"),
                CLASS("office", "room", "office_room", "North 1|North 2|South 4"),
            } },
          { TABLE("pupil", "pupils", "student", "school_pupil"),
            {
                KEY("pupil_id"),
                NAME("first_name", "given_name", "called", "Emil|Fay|Gus|Hana|Ivo|June"),
                NUMBER("grade", "mark", "grade_average", "1.7|2.3|3.1|1.2|2.8|2"),
                CLASS("district", "quarter", "home_district", "East|West|Harbour"),
                LINK("teacher_id", "teacher"),
            } },
          { TABLE("lesson", "lessons", "class_hour", "taught_lesson"),
            {
                KEY("lesson_id"),
                CLASS("subject", "topic", "subject_taught", "algebra|music|biology|French"),
                CLASS("weekday", "day", "day_of_week", "Monday|Tuesday|Friday"),
                NUMBER("duration", "minutes", "length_of_time", "45|90|60"),
                LINK("teacher_id", "teacher"),
            } },
      } },
    { "cinema",
      {
          { TABLE("film", "films", "movie", "motion_picture"),
            {
                KEY("film_id"),
                NAME("title", "heading", "film_title", "Dust Road|Second Moon|Paper Boats|Iron Winter|Sofa"),
                CLASS("genre", "category", "film_genre", "drama|comedy|thriller"),
                NUMBER("duration", "minutes", "running_time", "98|121|87|143|105"),
                NUMBER("rating", "score", "stars", "7.1|6.4|8.2|5.9|7.7"),
            } },
          { TABLE("hall", "halls", "auditorium", "screening_hall"),
            {
                KEY("hall_id"),
                NAME("name", "label", "hall_name", "Astra|Gloria|Rex"),
                NUMBER("capacity", "seats", "maximum_capacity", "220|96|140"),
                CLASS("floor", "level", "floor_level", "ground|upper"),
            } },
          { TABLE("screening", "screenings", "projection", "film_screening"),
            {
                KEY("screening_id"),
                LINK("film_id", "film"),
                LINK("hall_id", "hall"),
                TIME("screening_date", "day", "shown_on", "2023-07-01|2023-07-02|2023-07-05|2023-07-09"),
                NUMBER("price", "cost", "ticket_price", "9|11.5|7|8"),
                CLASS("language", "tongue", "spoken_language", "English|Danish|Polish"),
            } },
      } },
    { "hotel",
      {
          { TABLE("room", "rooms", "chamber", "hotel_room"),
            {
                KEY("room_id"),
                NAME("number", "door_number", "room_code", "101|102|203|204|305"),
                CLASS("view", "outlook", "window_view", "sea|garden|street"),
                NUMBER("beds", "sleeps", "bed_count", "1|2|2|3|4"),
                NUMBER("rate", "price", "nightly_rate", "70|95|110|140|180"),
            } },
          { TABLE("guest", "guests", "visitor", "hotel_guest"),
            {
                KEY("guest_id"),
                NAME("surname", "last_name", "family_name", "Ibarra|Jansen|Kovac|Lindt|Moreau"),
                CLASS("country", "nation", "home_country", "Spain|Croatia|Canada"),
                CLASS("phone", "telephone", "contact_number", "555-0101|555-0102|555-0103|555-0104"),
            } },
          { TABLE("booking", "bookings", "reservation", "room_booking"),
            {
                KEY("booking_id"),
                LINK("room_id", "room"),
                LINK("guest_id", "guest"),
                TIME("arrival_date", "check_in", "date_of_arrival", "2024-05-11|2024-06-02|2024-07-19|2024-08-30"),
                NUMBER("nights", "length_of_stay", "night_count", "2|7|3|14"),
                CLASS("status", "state", "booking_status", "paid|open|cancelled"),
            } },
      } },
    { "restaurant",
      {
          { TABLE("dish", "dishes", "meal", "menu_dish"),
            {
                KEY("dish_id"),
                NAME("name", "label", "dish_name", "Leek Soup|Grilled Trout|Bean Stew|Plum Cake|Lamb Pie"),
                CLASS("course", "menu_part", "course_of_meal", "starter|main|dessert"),
                NUMBER("price", "cost", "price_tag", "6.5|18|12|5|16"),
                NUMBER("calories", "energy", "calorie_count", "210|520|430|380|690"),
            } },
          { TABLE("chef", "chefs", "cook", "kitchen_chef"),
            {
                KEY("chef_id"),
                NAME("name", "full_name", "known_as", "Aldo|Birgit|Chiara"),
                NUMBER("experience", "years_of_work", "experience_years", "12|5|20"),
                CLASS("station", "post", "kitchen_station", "grill|pastry|sauces"),
            } },
          { TABLE("order_slip", "order slips", "table_order", "kitchen_slip"),
            {
                KEY("slip_id"),
                LINK("dish_id", "dish"),
                LINK("chef_id", "chef"),
                TIME("ordered_at", "time_of_day", "order_time", "12:05|12:40|13:10|19:30|20:15"),
                NUMBER("portions", "servings", "portion_count", "1|2|4|3"),
            } },
      } },
    { "gym",
      {
          { TABLE("trainer", "trainers", "coach", "gym_trainer"),
            {
                KEY("trainer_id"),
                NAME("name", "full_name", "known_as", "Rik|Suri|Tess|Udo"),
                CLASS("specialty", "field", "trained_specialty", "boxing|yoga|rowing"),
                NUMBER("fee", "hourly_price", "fee_charged", "35|42|28|50"),
            } },
          { TABLE("trainee", "trainees", "gym_goer", "registered_trainee"),
            {
                KEY("trainee_id"),
                NAME("surname", "last_name", "family_name", "Unger|Vidal|Weiss|Xu|Young"),
                NUMBER("weight", "mass", "body_weight", "64|81|92|55|73"),
                TIME("join_year", "entry_year", "joined_in", "2018|2020|2021|2023"),
                LINK("trainer_id", "trainer"),
            } },
          { TABLE("workout", "workouts", "exercise_session", "gym_workout"),
            {
                KEY("workout_id"),
                LINK("trainee_id", "trainee"),
                CLASS("machine", "device", "machine_used", "bike|bench|rope"),
                NUMBER("duration", "minutes", "length_of_time", "30|45|20|60"),
                NUMBER("calories", "energy", "calorie_count", "220|410|150|520"),
            } },
      } },
    { "post_office",
      {
          { TABLE("branch", "branches", "local_office", "post_branch"),
            {
                KEY("branch_id"),
                NAME("street", "road", "street_address", "Mill Lane|Castle Road|Elm Street"),
                CLASS("city", "town", "branch_city", "Brno|Graz|Linz"),
                NUMBER("staff", "employees", "staff_count", "6|11|4"),
            } },
          { TABLE("parcel", "parcels", "package", "posted_parcel"),
            {
                KEY("parcel_id"),
                NAME("recipient", "addressee", "recipient_name", "Anders|Bianca|Cyril|Dora|Enzo"),
                NUMBER("weight", "mass", "weight_kg", "1.2|0.4|7.5|3.3|12"),
                NUMBER("postage", "shipping_cost", "postage_paid", "5.2|2.9|11|7.4|16"),
                TIME("posting_date", "day", "date_posted", "2024-01-03|2024-01-09|2024-01-15|2024-02-01"),
                CLASS("service", "delivery_class", "service_level", "express|standard|registered"),
                LINK("branch_id", "branch"),
            } },
      } },
    { 0 },
};

/* Transport. */
static const struct practice_domain practice_domains_travel[] = {
    { "ferry_line",
      {
          { TABLE("ferry", "ferries", "ship", "ferry_boat"),
            {
                KEY("ferry_id"),
                NAME("name", "label", "ship_name", "Aurora|Bellona|Coral|Delfin"),
                NUMBER("capacity", "seats", "maximum_capacity", "400|250|900|120"),
                NUMBER("speed", "knots", "cruising_speed", "18|22|15|30"),
                TIME("build_year", "construction_year", "built_in", "1998|2005|2014|2019"),
            } },
          { TABLE("port", "ports", "harbour", "sea_port"),
            {
                KEY("port_id"),
                NAME("town", "city", "port_town", "Korsholm|Nynas|Visdal|Oskarby"),
                CLASS("country", "nation", "port_country", "Finland|Sweden|Denmark"),
                NUMBER("depth", "draught", "water_depth", "9|12|7|15"),
            } },
          { TABLE("crossing", "crossings", "passage", "ferry_crossing"),
            {
                KEY("crossing_id"),
                LINK("ferry_id", "ferry"),
                LINK("port_id", "port"),
                TIME("departure", "leaving_time", "departure_time", "06:30|09:15|14:00|21:45"),
                NUMBER("fare", "price", "ticket_fare", "24|31|18|45"),
                CLASS("season", "time_of_year", "travel_season", "summer|winter"),
            } },
      } },
    { "airline",
      {
          { TABLE("aircraft", "aircraft", "plane", "flying_machine"),
            {
                KEY("aircraft_id"),
                NAME("registration", "tail_number", "registration_code", "AB-12|AB-77|CX-03|DL-41"),
                CLASS("maker", "manufacturer", "maker_name", "Nordavia|Skyworks|Pellier"),
                NUMBER("seats", "capacity", "seat_count", "180|96|320|150"),
                NUMBER("range", "flying_distance", "range_km", "5600|2900|12000|6100"),
            } },
          { TABLE("pilot", "pilots", "aviator", "airline_pilot"),
            {
                KEY("pilot_id"),
                NAME("name", "full_name", "known_as", "Ana Ruiz|Ben Stark|Cleo Wynn"),
                NUMBER("age", "years_old", "age_in_years", "44|36|51"),
                CLASS("rank", "grade", "crew_rank", "captain|first officer"),
            } },
          { TABLE("flight", "flights", "air_trip", "scheduled_flight"),
            {
                KEY("flight_id"),
                LINK("aircraft_id", "aircraft"),
                LINK("pilot_id", "pilot"),
                CLASS("destination", "goal", "destination_city", "Oslo|Rome|Cairo|Lima"),
                TIME("flight_date", "day", "date_flown", "2023-10-01|2023-10-08|2023-11-17|2023-12-24"),
                NUMBER("passengers", "travellers", "passenger_count", "140|88|301|122"),
            } },
      } },
    { "railway",
      {
          { TABLE("station", "stations", "stop", "train_station"),
            {
                KEY("station_id"),
                NAME("name", "label", "station_name", "Central|Westgate|Mill Bridge|Airport"),
                NUMBER("platforms", "tracks", "platform_count", "12|4|2|6"),
                CLASS("region", "area", "station_region", "North|South|Coast"),
            } },
          { TABLE("train", "trains", "railcar", "passenger_train"),
            {
                KEY("train_id"),
                NAME("number", "code", "train_number", "IC 40|R 7|RE 12|EX 3"),
                NUMBER("wagons", "coaches", "wagon_count", "9|3|5|12"),
                TIME("build_year", "construction_year", "built_in", "1995|2008|2015|2021"),
                LINK("station_id", "station"),
            } },
          { TABLE("delay", "delays", "late_arrival", "train_delay"),
            {
                KEY("delay_id"),
                LINK("train_id", "train"),
                CLASS("cause", "reason", "cause_given", "snow|signal|staff"),
                NUMBER("minutes", "duration", "minutes_late", "5|18|42|11"),
                TIME("delay_date", "day", "date_of_delay", "2024-01-12|2024-01-30|2024-02-14|2024-03-03"),
            } },
      } },
    { "bike_rental",
      {
          { TABLE("bike", "bikes", "cycle", "rental_bike"),
            {
                KEY("bike_id"),
                CLASS("color", "paint", "frame_color", "red|green|black"),
                CLASS("brand", "make", "brand_name", "Volta|Kestrel|Arno"),
                NUMBER("gears", "speeds", "gear_count", "7|21|3|8"),
                NUMBER("price", "cost", "daily_price", "15|22|12|18"),
            } },
          { TABLE("customer", "customers", "client", "rental_customer"),
            {
                KEY("customer_id"),
                NAME("name", "full_name", "known_as", "Gil|Hedda|Ilya|Jana|Kim"),
                CLASS("city", "town", "home_city", "Delft|Bonn|Basel"),
                NUMBER("discount", "rebate", "discount_percent", "0|5|10|20"),
            } },
          { TABLE("rental", "rentals", "hire", "bike_rental_record"),
            {
                KEY("rental_id"),
                LINK("bike_id", "bike"),
                LINK("customer_id", "customer"),
                TIME("start_date", "first_day", "date_of_start", "2023-04-02|2023-05-15|2023-06-20|2023-07-07"),
                NUMBER("days", "length_of_time", "day_count", "1|3|2|7"),
                NUMBER("deposit", "security", "deposit_paid", "50|100|80"),
            } },
      } },
    { "taxi_company",
      {
          { TABLE("cab", "cabs", "taxi", "company_cab"),
            {
                KEY("cab_id"),
                NAME("plate", "license_number", "plate_number", "TX-101|TX-205|TX-333|TX-480"),
                CLASS("fuel", "energy_source", "fuel_type", "diesel|electric|hybrid"),
                NUMBER("mileage", "distance", "mileage_km", "120000|45000|88000|9000"),
            } },
          { TABLE("driver", "drivers", "chauffeur", "cab_driver"),
            {
                KEY("driver_id"),
                NAME("name", "full_name", "known_as", "Lars|Mona|Nadir|Olga"),
                TIME("license_year", "permit_year", "licensed_in", "2001|2010|2015|2018"),
                NUMBER("rating", "score", "stars", "4.8|4.1|3.9|4.5"),
                LINK("cab_id", "cab"),
            } },
          { TABLE("ride", "rides", "trip", "taxi_ride"),
            {
                KEY("ride_id"),
                LINK("driver_id", "driver"),
                NUMBER("fare", "price", "fare_paid", "12.5|30|8|21"),
                NUMBER("distance", "kilometres", "distance_driven", "4.2|15|2.1|9.7"),
                CLASS("payment", "paid_by", "payment_method", "cash|card"),
            } },
      } },
    { "bus_network",
      {
          { TABLE("bus_line", "bus lines", "route", "bus_service"),
            {
                KEY("line_id"),
                NAME("code", "number", "line_code", "B1|B7|N3|X9"),
                NUMBER("length", "extent", "length_km", "12|8|21|35"),
                CLASS("zone", "tariff_area", "fare_zone", "A|B|C"),
            } },
          { TABLE("bus", "buses", "coach", "city_bus"),
            {
                KEY("bus_id"),
                CLASS("model", "version", "model_name", "Urbano|Citystar|Metro"),
                NUMBER("seats", "capacity", "seat_count", "40|32|55|28"),
                TIME("purchase_year", "year_of_purchase", "bought_in", "2010|2014|2018|2022"),
                LINK("line_id", "bus_line"),
            } },
          { TABLE("inspection", "inspections", "checkup", "bus_inspection"),
            {
                KEY("inspection_id"),
                LINK("bus_id", "bus"),
                TIME("inspection_date", "day", "date_inspected", "2022-02-02|2022-08-09|2023-02-11|2023-08-15"),
                CLASS("result", "outcome", "inspection_result", "passed|failed"),
                NUMBER("cost", "price", "cost_charged", "120|95|240"),
            } },
      } },
    { "campsite",
      {
          { TABLE("pitch", "pitches", "plot", "camping_pitch"),
            {
                KEY("pitch_id"),
                NAME("label", "tag", "pitch_label", "P1|P2|P3|P4|P5"),
                NUMBER("area", "surface", "area_m2", "60|80|45|100|75"),
                CLASS("ground", "soil", "ground_type", "grass|gravel|sand"),
                NUMBER("fee", "price", "nightly_fee", "18|25|14|32|20"),
            } },
          { TABLE("camper", "campers", "holidaymaker", "camp_visitor"),
            {
                KEY("camper_id"),
                NAME("surname", "last_name", "family_name", "Noord|Oller|Pace|Quint"),
                CLASS("vehicle", "transport", "vehicle_type", "tent|caravan|van"),
                NUMBER("party_size", "group_size", "people_count", "2|4|3|6"),
                TIME("arrival", "check_in", "arrival_day", "2023-06-30|2023-07-12|2023-08-01|2023-08-19"),
                LINK("pitch_id", "pitch"),
            } },
      } },
    { "marina",
      {
          { TABLE("yacht", "yachts", "sailing_boat", "moored_yacht"),
            {
                KEY("yacht_id"),
                NAME("name", "label", "boat_name", "Windrose|Marlin|Saga|Tern"),
                NUMBER("length", "extent", "length_m", "9|14|11|22"),
                CLASS("flag", "nation", "flag_country", "Malta|Greece|France"),
                NUMBER("value", "worth", "insured_value", "60000|210000|95000|800000"),
            } },
          { TABLE("skipper", "skippers", "boat_captain", "yacht_skipper"),
            {
                KEY("skipper_id"),
                NAME("name", "full_name", "known_as", "Odd|Petra|Rafa|Siri"),
                NUMBER("experience", "years_of_work", "experience_years", "3|17|9|25"),
                LINK("yacht_id", "yacht"),
            } },
          { TABLE("mooring", "moorings", "berth", "mooring_place"),
            {
                KEY("mooring_id"),
                LINK("yacht_id", "yacht"),
                CLASS("pier", "jetty", "pier_name", "North Pier|South Pier"),
                NUMBER("rent", "price", "monthly_rent", "220|480|310|900"),
                TIME("paid_until", "expiry", "paid_until_date", "2024-03-31|2024-06-30|2024-12-31"),
            } },
      } },
    { "ski_resort",
      {
          { TABLE("slope", "slopes", "piste", "ski_slope"),
            {
                KEY("slope_id"),
                NAME("name", "label", "slope_name", "Eagle|Fox Run|Glacier|Hare|Ibex"),
                CLASS("difficulty", "level", "difficulty_grade", "easy|medium|hard"),
                NUMBER("length", "extent", "length_m", "1200|3400|800|2600|1900"),
                NUMBER("altitude", "elevation", "altitude_m", "1800|2500|3100|2100|1600"),
            } },
          { TABLE("lift", "lifts", "cable_car", "ski_lift"),
            {
                KEY("lift_id"),
                NAME("code", "number", "lift_code", "L1|L2|L3|L4"),
                NUMBER("capacity", "people_per_hour", "maximum_capacity", "1800|900|2400|600"),
                TIME("opening", "opening_hour", "opens_at", "08:00|08:30|09:00"),
                LINK("slope_id", "slope"),
            } },
          { TABLE("accident", "accidents", "mishap", "ski_accident"),
            {
                KEY("accident_id"),
                LINK("slope_id", "slope"),
                TIME("accident_date", "day", "date_of_accident", "2023-01-07|2023-02-11|2023-02-25|2024-01-20"),
                CLASS("injury", "harm", "injury_type", "knee|wrist|shoulder"),
                NUMBER("age", "years_old", "age_in_years", "24|61|13|38"),
            } },
      } },
    { "car_repair",
      {
          { TABLE("car", "cars", "automobile", "serviced_car"),
            {
                KEY("car_id"),
                NAME("plate", "license_number", "plate_number", "KA-1|KB-9|KC-4|KD-7"),
                CLASS("make", "brand", "make_name", "Orion|Falke|Tiba"),
                TIME("year", "calendar_year", "model_year", "2009|2013|2017|2020"),
                NUMBER("mileage", "distance", "mileage_km", "180000|99000|64000|21000"),
            } },
          { TABLE("mechanic", "mechanics", "technician", "garage_mechanic"),
            {
                KEY("mechanic_id"),
                NAME("name", "full_name", "known_as", "Tim|Ursel|Viggo"),
                NUMBER("wage", "pay", "hourly_wage", "24|31|27"),
                CLASS("skill", "ability", "main_skill", "brakes|engines|paint"),
            } },
          { TABLE("repair", "repairs", "fix", "repair_job"),
            {
                KEY("repair_id"),
                LINK("car_id", "car"),
                LINK("mechanic_id", "mechanic"),
                CLASS("part", "component", "part_replaced", "brake|clutch|mirror|tyre"),
                NUMBER("cost", "price", "cost_charged", "150|620|90|340"),
                TIME("repair_date", "day", "date_repaired", "2024-03-02|2024-03-18|2024-04-06|2024-05-21"),
            } },
      } },
    { 0 },
};

/* Land, water, sky and animals. */
static const struct practice_domain practice_domains_nature[] = {
    { "observatory",
      {
          { TABLE("telescope", "telescopes", "optical_instrument", "dome_telescope"),
            {
                KEY("telescope_id"),
                NAME("name", "label", "instrument_name", "Argus|Big Eye|Corona|Dawn"),
                NUMBER("aperture", "opening", "aperture_mm", "1200|400|2500|800"),
                TIME("build_year", "construction_year", "built_in", "1978|1999|2009|2016"),
            } },
          { TABLE("star", "stars", "sun", "observed_star"),
            {
                KEY("star_id"),
                NAME("designation", "catalogue_name", "star_designation", "HX 11|HX 12|KP 7|KP 9|RO 3"),
                CLASS("constellation", "star_group", "constellation_name", "Lyra|Orion|Cygnus"),
                NUMBER("brightness", "magnitude", "apparent_brightness", "2.1|5.6|3.3|7.8|4.4"),
                NUMBER("distance", "light_years", "distance_away", "25|640|110|1400|86"),
            } },
          { TABLE("observation", "observations", "sighting", "night_observation"),
            {
                KEY("observation_id"),
                LINK("telescope_id", "telescope"),
                LINK("star_id", "star"),
                TIME("night", "day", "night_date", "2023-08-12|2023-08-13|2023-09-01|2023-10-22"),
                NUMBER("exposure", "seconds", "exposure_time", "30|120|600|45"),
                CLASS("weather", "sky", "weather_condition", "clear|hazy|cloudy"),
            } },
      } },
    { "beekeeping",
      {
          { TABLE("hive", "hives", "bee_house", "wooden_hive"),
            {
                KEY("hive_id"),
                NAME("label", "tag", "hive_label", "H1|H2|H3|H4|H5"),
                CLASS("color", "paint", "hive_color", "blue|yellow|white"),
                NUMBER("frames", "combs", "frame_count", "8|10|12|9|11"),
                TIME("setup_year", "start_year", "set_up_in", "2017|2018|2020|2021|2022"),
            } },
          { TABLE("queen", "queens", "mother_bee", "queen_bee"),
            {
                KEY("queen_id"),
                CLASS("race", "breed", "bee_race", "Carnica|Buckfast|Ligustica"),
                NUMBER("age", "years_old", "age_in_years", "1|2|3|4"),
                CLASS("temper", "mood", "temper_noted", "calm|nervous"),
                LINK("hive_id", "hive"),
            } },
          { TABLE("harvest", "harvests", "honey_yield", "honey_harvest"),
            {
                KEY("harvest_id"),
                LINK("hive_id", "hive"),
                TIME("harvest_date", "day", "date_harvested", "2022-06-10|2022-07-28|2023-06-15|2023-08-02"),
                NUMBER("weight", "mass", "weight_kg", "12|18.5|9|22"),
                CLASS("flower", "bloom", "main_flower", "linden|clover|heather"),
            } },
      } },
    { "zoo",
      {
          { TABLE("animal", "animals", "creature", "zoo_animal"),
            {
                KEY("animal_id"),
                NAME("name", "label", "pet_name", "Bimbo|Congo|Dusty|Elsa|Fips|Goldie"),
                CLASS("species", "kind", "animal_species", "lion|penguin|otter"),
                NUMBER("weight", "mass", "weight_kg", "190|4.5|8|170|5|9"),
                TIME("birth_year", "year_of_birth", "born_in", "2009|2015|2018|2012|2020|2021"),
                LINK("enclosure_id", "enclosure"),
            } },
          { TABLE("enclosure", "enclosures", "cage", "fenced_enclosure"),
            {
                KEY("enclosure_id"),
                NAME("name", "label", "enclosure_name", "Savanna|Rocks|River Bank"),
                NUMBER("area", "surface", "area_m2", "1200|300|450"),
                CLASS("climate", "temperature_zone", "climate_zone", "warm|cold"),
            } },
          { TABLE("keeper", "keepers", "attendant", "zoo_keeper"),
            {
                KEY("keeper_id"),
                NAME("surname", "last_name", "family_name", "Adler|Bruhn|Crespo"),
                NUMBER("salary", "pay", "wage", "31000|34500|29800"),
                LINK("enclosure_id", "enclosure"),
            } },
      } },
    { "orchard",
      {
          { TABLE("tree", "trees", "woody_plant", "fruit_tree"),
            {
                KEY("tree_id"),
                CLASS("fruit", "crop", "fruit_type", "apple|pear|cherry"),
                NUMBER("height", "tallness", "height_m", "3.2|4.5|2.8|5.1"),
                TIME("planting_year", "start_year", "planted_in", "2001|2008|2014|2019"),
                LINK("row_id", "tree_row"),
            } },
          { TABLE("tree_row", "tree rows", "line_of_trees", "planted_row"),
            {
                KEY("row_id"),
                NAME("label", "tag", "row_label", "R1|R2|R3"),
                NUMBER("length", "extent", "length_m", "80|65|110"),
                CLASS("soil", "ground", "soil_type", "clay|loam|sand"),
            } },
          { TABLE("picking", "pickings", "gathering", "fruit_picking"),
            {
                KEY("picking_id"),
                LINK("tree_id", "tree"),
                TIME("picking_date", "day", "date_picked", "2023-07-05|2023-09-12|2023-09-20|2023-10-01"),
                NUMBER("weight", "mass", "weight_kg", "45|62|18|77"),
                CLASS("picker", "worker", "picker_name", "Jo|Kaspar|Lidia"),
            } },
      } },
    { "vineyard",
      {
          { TABLE("grape", "grapes", "grape_variety", "vine_kind"),
            {
                KEY("grape_id"),
                NAME("name", "label", "variety_name", "Solaris|Tempra|Umbria|Verdel"),
                CLASS("color", "hue", "skin_color", "white|red|rose"),
                NUMBER("sugar", "sweetness", "sugar_content", "18|21|24|19"),
            } },
          { TABLE("wine", "wines", "vintage_bottle", "estate_wine"),
            {
                KEY("wine_id"),
                NAME("name", "label", "wine_name", "Hill One|Stone Path|Old Gate|Moonrise"),
                TIME("year", "calendar_year", "bottled_in", "2015|2018|2019|2021"),
                NUMBER("price", "cost", "price_tag", "12|28|19|45"),
                NUMBER("alcohol", "strength", "alcohol_percent", "12.5|13|14|11.5"),
                LINK("grape_id", "grape"),
            } },
          { TABLE("tasting", "tastings", "sampling", "wine_tasting"),
            {
                KEY("tasting_id"),
                LINK("wine_id", "wine"),
                NUMBER("score", "points", "score_given", "88|91|79|95"),
                CLASS("judge", "critic", "judge_name", "Amaro|Blum|Cerny"),
                TIME("tasting_date", "day", "date_tasted", "2022-11-05|2023-02-18|2023-06-30"),
            } },
      } },
    { "forest_office",
      {
          { TABLE("stand", "stands", "wood_lot", "forest_stand"),
            {
                KEY("stand_id"),
                NAME("name", "label", "stand_name", "Deer Hill|Fern Valley|Long Ridge|Owl Wood"),
                CLASS("species", "kind", "tree_species", "beech|pine|oak"),
                NUMBER("area", "surface", "area_ha", "14|32|8|51"),
                NUMBER("age", "years_old", "age_in_years", "60|85|40|120"),
            } },
          { TABLE("ranger", "rangers", "forester", "forest_ranger"),
            {
                KEY("ranger_id"),
                NAME("surname", "last_name", "family_name", "Dorn|Eichel|Forst"),
                TIME("service_year", "start_year", "in_service_since", "1999|2007|2018"),
                LINK("stand_id", "stand"),
            } },
          { TABLE("felling", "fellings", "logging", "tree_felling"),
            {
                KEY("felling_id"),
                LINK("stand_id", "stand"),
                TIME("felling_date", "day", "date_felled", "2021-11-10|2022-01-22|2022-12-05|2023-02-17"),
                NUMBER("volume", "cubic_metres", "wood_volume", "120|340|85|210"),
                CLASS("buyer", "purchaser", "buyer_name", "Sawmill Ost|Paper Co|Furnit"),
            } },
      } },
    { "weather_service",
      {
          { TABLE("weather_mast", "weather masts", "measuring_post", "weather_tower"),
            {
                KEY("mast_id"),
                NAME("place", "location", "place_name", "Cape Nord|Dry Lake|Elk Pass|Fjord End"),
                NUMBER("altitude", "elevation", "altitude_m", "12|340|1850|5"),
                CLASS("operator", "run_by", "operator_name", "state|university|army"),
            } },
          { TABLE("reading", "readings", "measurement", "mast_reading"),
            {
                KEY("reading_id"),
                LINK("mast_id", "weather_mast"),
                TIME("reading_date", "day", "date_read", "2024-01-01|2024-01-02|2024-01-03|2024-01-04"),
                NUMBER("temperature", "degrees", "temperature_celsius", "-4|3|11|-12"),
                NUMBER("rainfall", "precipitation", "rainfall_mm", "0|12|5|31"),
                CLASS("wind", "breeze", "wind_direction", "north|west|southeast"),
            } },
      } },
    { "fishery",
      {
          { TABLE("lake", "lakes", "body_of_water", "fishing_lake"),
            {
                KEY("lake_id"),
                NAME("name", "label", "lake_name", "Alder Lake|Birch Pond|Crane Water"),
                NUMBER("depth", "deepness", "depth_m", "24|6|41"),
                NUMBER("area", "surface", "area_ha", "310|22|780"),
            } },
          { TABLE("angler", "anglers", "fisherman", "licensed_angler"),
            {
                KEY("angler_id"),
                NAME("name", "full_name", "known_as", "Hakon|Irma|Jesper|Klara"),
                CLASS("club", "society", "angling_club", "Pike Club|Blue Hook"),
                TIME("license_year", "permit_year", "licensed_in", "2011|2016|2020|2023"),
            } },
          { TABLE("catch", "catches", "haul", "landed_catch"),
            {
                KEY("catch_id"),
                LINK("lake_id", "lake"),
                LINK("angler_id", "angler"),
                CLASS("fish", "species", "fish_kind", "pike|perch|trout"),
                NUMBER("weight", "mass", "weight_kg", "2.4|0.6|1.8|7.1"),
                NUMBER("length", "extent", "length_cm", "65|28|44|102"),
            } },
      } },
    { "dog_kennel",
      {
          { TABLE("dog", "dogs", "hound", "kennel_dog"),
            {
                KEY("dog_id"),
                NAME("name", "label", "call_name", "Bolt|Cleo|Dot|Echo|Flint"),
                CLASS("breed", "race", "dog_breed", "collie|beagle|poodle"),
                NUMBER("age", "years_old", "age_in_years", "3|7|1|10|5"),
                NUMBER("height", "tallness", "height_cm", "52|38|24|60|45"),
            } },
          { TABLE("owner", "owners", "holder", "dog_owner"),
            {
                KEY("owner_id"),
                NAME("surname", "last_name", "family_name", "Gale|Hart|Isak|Joss"),
                CLASS("phone", "telephone", "contact_number", "555-0201|555-0202|555-0203|555-0204"),
                CLASS("city", "town", "home_city", "Turku|Umea|Vaasa"),
                LINK("dog_id", "dog"),
            } },
          { TABLE("stay", "stays", "boarding", "kennel_stay"),
            {
                KEY("stay_id"),
                LINK("dog_id", "dog"),
                TIME("arrival", "check_in", "arrival_day", "2023-03-04|2023-04-10|2023-07-01|2023-12-22"),
                NUMBER("nights", "length_of_stay", "night_count", "3|10|5|14"),
                NUMBER("bill", "charge", "bill_total", "75|240|125|380"),
            } },
      } },
    { "botanical_garden",
      {
          { TABLE("greenhouse", "greenhouses", "glass_house", "heated_greenhouse"),
            {
                KEY("greenhouse_id"),
                NAME("name", "label", "house_name", "Palm House|Cactus Dome|Fern Hall"),
                NUMBER("temperature", "degrees", "temperature_celsius", "26|31|18"),
                NUMBER("humidity", "moisture", "humidity_percent", "80|25|90"),
            } },
          { TABLE("plant", "plants", "herb", "garden_plant"),
            {
                KEY("plant_id"),
                NAME("name", "label", "botanical_name", "Aloe Vera|Royal Fern|Date Palm|Orchid|Agave"),
                CLASS("origin", "native_land", "place_of_origin", "Mexico|Kenya|Peru"),
                NUMBER("height", "tallness", "height_cm", "40|120|900|35|110"),
                TIME("planting_year", "start_year", "planted_in", "1988|2003|2010|2018"),
                LINK("greenhouse_id", "greenhouse"),
            } },
          { TABLE("gardener", "gardeners", "groundskeeper", "plant_gardener"),
            {
                KEY("gardener_id"),
                NAME("surname", "last_name", "family_name", "Rosen|Strauch|Tulp"),
                NUMBER("wage", "pay", "monthly_wage", "2400|2650|2100"),
                LINK("greenhouse_id", "greenhouse"),
            } },
      } },
    { 0 },
};

/* Trades, companies and hobbies. */
static const struct practice_domain practice_domains_work[] = {
    { "bank",
      {
          { TABLE("account", "accounts", "deposit", "bank_account"),
            {
                KEY("account_id"),
                NAME("holder", "account_owner", "holder_name", "Abbas|Bohm|Cruz|Dietz|Evers"),
                NUMBER("balance", "funds", "balance_left", "1200|-50|8400|310|22000"),
                CLASS("currency", "money", "currency_code", "EUR|USD|CHF"),
                TIME("opening_year", "start_year", "opened_in", "2003|2011|2016|2020|2023"),
            } },
          { TABLE("transfer", "transfers", "money_order", "bank_transfer"),
            {
                KEY("transfer_id"),
                LINK("account_id", "account"),
                NUMBER("amount", "money_sent", "amount_sent", "25|400|99|1500"),
                TIME("transfer_date", "day", "date_sent", "2024-02-01|2024-02-14|2024-03-03|2024-03-28"),
                CLASS("purpose", "reason", "purpose_given", "rent|gift|salary"),
            } },
          { TABLE("card", "cards", "payment_card", "plastic"),
            {
                KEY("card_id"),
                LINK("account_id", "account"),
                CLASS("brand", "make", "brand_name", "Mastro|Visto"),
                NUMBER("credit_limit", "maximum_spending", "limit_set", "500|2000|5000"),
            } },
      } },
    { "software_house",
      {
          { TABLE("developer", "developers", "programmer", "software_developer"),
            {
                KEY("developer_id"),
                NAME("name", "full_name", "known_as", "Arun|Bea|Cory|Dana|Eli"),
                CLASS("team", "crew", "team_name", "core|web|tools"),
                NUMBER("salary", "pay", "wage", "64000|71000|58000|83000|66000"),
            } },
          { TABLE("project", "projects", "undertaking", "software_project"),
            {
                KEY("project_id"),
                NAME("title", "heading", "project_title", "Atlas|Beacon|Comet|Drift"),
                NUMBER("budget", "funds", "budget_total", "120000|45000|300000|80000"),
                TIME("deadline", "due_date", "deadline_date", "2024-06-01|2024-09-15|2025-01-31|2025-03-01"),
                LINK("developer_id", "developer"),
            } },
          { TABLE("bug", "bugs", "defect", "software_bug"),
            {
                KEY("bug_id"),
                LINK("project_id", "project"),
                CLASS("severity", "gravity", "severity_level", "minor|major|critical"),
                CLASS("status", "state", "bug_status", "open|closed"),
                NUMBER("effort", "hours", "effort_spent", "2|8|21|5"),
            } },
      } },
    { "building_firm",
      {
          { TABLE("building_site", "building sites", "worksite", "construction_site"),
            {
                KEY("site_id"),
                NAME("address", "street", "site_address", "Oak Row 4|Pine Court 9|Quay 17"),
                NUMBER("floors", "storeys", "floor_count", "3|12|5"),
                NUMBER("budget", "funds", "budget_total", "800000|5200000|1400000"),
            } },
          { TABLE("crane", "cranes", "lifting_machine", "tower_crane"),
            {
                KEY("crane_id"),
                CLASS("maker", "manufacturer", "maker_name", "Liftor|Hauler"),
                NUMBER("height", "tallness", "height_m", "35|60|48"),
                NUMBER("load", "burden", "maximum_load", "6|12|8"),
                LINK("site_id", "building_site"),
            } },
          { TABLE("builder", "builders", "bricklayer", "site_builder"),
            {
                KEY("builder_id"),
                NAME("surname", "last_name", "family_name", "Kern|Lopez|Murray|Novak"),
                CLASS("trade", "craft", "trade_learned", "mason|roofer|welder"),
                TIME("hire_year", "start_year", "hired_in", "2006|2013|2017|2022"),
                LINK("site_id", "building_site"),
            } },
      } },
    { "brewery",
      {
          { TABLE("beer", "beers", "ale", "brewed_beer"),
            {
                KEY("beer_id"),
                NAME("name", "label", "beer_name", "Amber Fox|Black Barn|Cloud Nine|Dry Hop"),
                NUMBER("alcohol", "strength", "alcohol_percent", "5.2|7.1|4.4|6"),
                NUMBER("bitterness", "bitter_units", "bitterness_level", "22|60|15|48"),
                CLASS("style", "manner", "beer_style", "lager|stout|wheat"),
            } },
          { TABLE("tank", "tanks", "vat", "brewing_tank"),
            {
                KEY("tank_id"),
                NUMBER("capacity", "content", "maximum_capacity", "1000|2500|600"),
                CLASS("material", "substance", "tank_material", "steel|copper|oak"),
                LINK("beer_id", "beer"),
            } },
          { TABLE("pub", "pubs", "tavern", "served_pub"),
            {
                KEY("pub_id"),
                NAME("name", "label", "pub_name", "The Anchor|The Bell|The Crown|The Drum"),
                CLASS("city", "town", "pub_city", "Leeds|York|Hull"),
                NUMBER("debt", "money_owed", "debt_left", "0|250|1200|90"),
                LINK("beer_id", "beer"),
            } },
      } },
    { "newspaper",
      {
          { TABLE("journalist", "journalists", "reporter", "staff_journalist"),
            {
                KEY("journalist_id"),
                NAME("name", "full_name", "known_as", "Flora|Gregor|Hilde|Ian"),
                CLASS("desk", "department", "news_desk", "sports|politics|culture"),
                NUMBER("experience", "years_of_work", "experience_years", "4|22|11|8"),
            } },
          { TABLE("article", "articles", "news_story", "printed_article"),
            {
                KEY("article_id"),
                NAME("headline", "heading", "headline_text", "Rain Again|Vote Today|Cup Lost|New Bridge|Old Songs"),
                NUMBER("words", "length", "word_count", "450|1200|300|800|640"),
                TIME("print_date", "day", "printed_on", "2024-01-05|2024-01-06|2024-01-07|2024-01-08"),
                LINK("journalist_id", "journalist"),
            } },
          { TABLE("reader_letter", "reader letters", "comment", "mailed_letter"),
            {
                KEY("letter_id"),
                LINK("article_id", "article"),
                CLASS("tone", "mood", "tone_of_letter", "angry|pleased|puzzled"),
                CLASS("city", "town", "home_city", "Bern|Kiel|Nancy"),
            } },
      } },
    { "law_firm",
      {
          { TABLE("lawyer", "lawyers", "attorney", "firm_lawyer"),
            {
                KEY("lawyer_id"),
                NAME("surname", "last_name", "family_name", "Pohl|Quade|Rhys|Sauer"),
                CLASS("field", "area", "field_of_law", "tax|family|criminal"),
                NUMBER("fee", "hourly_price", "fee_charged", "180|240|310|200"),
            } },
          { TABLE("lawsuit", "lawsuits", "court_case", "legal_suit"),
            {
                KEY("lawsuit_id"),
                NAME("title", "heading", "case_title", "Reed v. Moor|State v. Kane|Ash v. Oak|Hill v. Dale"),
                CLASS("court", "tribunal", "court_name", "district|supreme"),
                CLASS("verdict", "judgment", "verdict_given", "won|lost|settled"),
                TIME("filing_date", "day", "date_filed", "2021-05-04|2022-02-16|2022-10-30|2023-07-21"),
                LINK("lawyer_id", "lawyer"),
            } },
          { TABLE("hearing", "hearings", "court_session", "scheduled_hearing"),
            {
                KEY("hearing_id"),
                LINK("lawsuit_id", "lawsuit"),
                TIME("hearing_date", "session_day", "date_heard", "2023-01-11|2023-03-08|2023-09-19"),
                NUMBER("witnesses", "people_heard", "witness_count", "0|3|1|6"),
            } },
      } },
    { "insurance",
      {
          { TABLE("policy", "policies", "contract", "insurance_policy"),
            {
                KEY("policy_id"),
                NAME("holder", "insured_person", "holder_name", "Tara|Ulf|Vito|Wanda"),
                CLASS("cover", "protection", "cover_type", "fire|theft|travel"),
                NUMBER("premium", "yearly_price", "premium_paid", "120|340|95|610"),
                TIME("start_date", "first_day", "date_of_start", "2019-01-01|2020-07-01|2022-04-01|2023-10-01"),
            } },
          { TABLE("claim", "claims", "demand", "damage_claim"),
            {
                KEY("claim_id"),
                LINK("policy_id", "policy"),
                NUMBER("amount", "money_claimed", "amount_claimed", "900|15000|230|4800"),
                CLASS("status", "state", "claim_status", "paid|refused|pending"),
                TIME("claim_date", "day", "date_claimed", "2023-02-03|2023-05-25|2023-11-30|2024-01-16"),
            } },
      } },
    { "warehouse",
      {
          { TABLE("article_item", "article items", "product", "stocked_good"),
            {
                KEY("item_id"),
                NAME("name", "label", "item_name", "Hinge|Lamp|Rake|Shelf|Valve"),
                NUMBER("weight", "mass", "weight_kg", "0.2|1.4|2|9|0.6"),
                NUMBER("price", "cost", "price_tag", "1.9|24|12|49|8"),
                CLASS("color", "hue", "item_color", "grey|white|brown"),
            } },
          { TABLE("supplier", "suppliers", "vendor", "goods_supplier"),
            {
                KEY("supplier_id"),
                NAME("company", "firm", "company_name", "Baltic Goods|Ironline|Quick Parts"),
                CLASS("country", "nation", "home_country", "Latvia|Italy|Turkey"),
                NUMBER("rating", "score", "stars", "4|3|5"),
            } },
          { TABLE("delivery", "deliveries", "shipment", "goods_delivery"),
            {
                KEY("delivery_id"),
                LINK("item_id", "article_item"),
                LINK("supplier_id", "supplier"),
                NUMBER("quantity", "amount", "quantity_sent", "100|40|250|12"),
                TIME("delivery_date", "day", "date_delivered", "2023-09-04|2023-09-25|2023-11-13|2024-02-07"),
            } },
      } },
    { "music_label",
      {
          { TABLE("band", "bands", "music_group", "signed_band"),
            {
                KEY("band_id"),
                NAME("name", "label", "band_name", "Grey Owls|Hot Wires|Ivory|Jackdaw"),
                CLASS("style", "manner", "music_style", "jazz|rock|folk"),
                NUMBER("members", "musicians", "member_count", "4|5|3|6"),
                TIME("founding_year", "start_year", "founded_in", "1999|2008|2014|2020"),
            } },
          { TABLE("album", "albums", "record", "music_album"),
            {
                KEY("album_id"),
                NAME("title", "heading", "album_title", "First Light|Backroads|Static|Homecoming|Lanterns"),
                NUMBER("sales", "copies_sold", "sales_figure", "12000|560|90000|4300|7700"),
                TIME("release_date", "day", "released_on", "2010-03-05|2015-10-16|2018-06-01|2021-09-24"),
                LINK("band_id", "band"),
            } },
          { TABLE("concert", "concerts", "gig", "live_concert"),
            {
                KEY("concert_id"),
                LINK("band_id", "band"),
                CLASS("venue", "location", "venue_name", "Dome|Arena|Old Mill"),
                NUMBER("price", "cost", "ticket_price", "25|60|15"),
                NUMBER("audience", "attendance", "audience_size", "300|8000|120"),
            } },
      } },
    { "chess_club",
      {
          { TABLE("player", "players", "competitor", "chess_player"),
            {
                KEY("player_id"),
                NAME("name", "full_name", "known_as", "Kaja|Levon|Magda|Nils|Orla"),
                NUMBER("rating", "score", "playing_strength", "1850|2310|2040|1620|1990"),
                NUMBER("age", "years_old", "age_in_years", "17|33|42|12|60"),
                CLASS("country", "nation", "home_country", "Poland|Armenia|Ireland"),
            } },
          { TABLE("tournament", "tournaments", "contest", "chess_tournament"),
            {
                KEY("tournament_id"),
                NAME("name", "label", "event_name", "Spring Open|City Cup|Masters"),
                CLASS("city", "town", "host_city", "Gdansk|Cork|Yerevan"),
                NUMBER("prize", "award", "prize_money", "500|2000|10000"),
                TIME("start_date", "first_day", "date_of_start", "2023-04-14|2023-08-02|2024-01-19"),
            } },
          { TABLE("game", "games", "match", "chess_game"),
            {
                KEY("game_id"),
                LINK("player_id", "player"),
                LINK("tournament_id", "tournament"),
                NUMBER("moves", "turns", "move_count", "31|58|24|77"),
                CLASS("opening", "first_moves", "opening_name", "Sicilian|Catalan|London"),
                CLASS("result", "outcome", "game_result", "win|draw|loss"),
            } },
      } },
    { 0 },
};

const struct practice_domain *practice_domain(int i)
{
    static const struct practice_domain *const lists[] = { practice_domains_town, practice_domains_travel,
                                                           practice_domains_nature, practice_domains_work };

    for (int l = 0; l < ARRAY_LEN(lists); l++)
        for (const struct practice_domain *d = lists[l]; d->name; d++)
            if (i-- == 0)
                return d;
    return NULL;
}

int practice_n_tables(const struct practice_domain *d)
{
    int n = 0;
    while (n < PRACTICE_TABLES && d->tables[n].name)
        n++;
    return n;
}

int practice_n_columns(const struct practice_table *t)
{
    int n = 0;
    while (n < PRACTICE_COLUMNS && t->columns[n].name)
        n++;
    return n;
}

int practice_table_find(const struct practice_domain *d, const char *name)
{
    for (int t = 0; t < practice_n_tables(d); t++)
        if (strcmp(d->tables[t].name, name) == 0)
            return t;
    CHECK(false, "domain %s has no table %s", d->name, name);
    return -1;
}

int practice_n_values(const struct practice_column *c)
{
    int n = c->values != NULL;
    for (const char *p = c->values; p && *p; p++)
        n += *p == '|';
    return n;
}

void practice_value(char *out, size_t size, const struct practice_column *c, int i)
{
    const char *p = c->values;

    for (i %= practice_n_values(c); i > 0; i--)
        p = strchr(p, '|') + 1;
    size_t n = strcspn(p, "|");
    CHECK(n < size, "value of %s: %zu bytes", c->name, n);
    memcpy(out, p, n);
    out[n] = 0;
}

bool practice_is_number(const char *value)
{
    char *end;
    strtod(value, &end);
    return *value && !*end;
}
