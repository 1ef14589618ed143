\restrict x
CREATE FUNCTION public.f(a integer) RETURNS integer LANGUAGE plpgsql AS $_$ BEGIN RETURN 1; END $_$;
CREATE TABLE public.parent (a integer, "b c" character varying(50) DEFAULT 'x;y'::character varying NOT NULL, t text[] DEFAULT ARRAY['a'::text]);
CREATE TABLE public.child (c integer NOT NULL, parent integer)
INHERITS (public.parent);
CREATE VIEW public.v AS
 SELECT c.a, count(*) AS n
   FROM public.child c;
COPY public.parent (a, "b c", t) FROM stdin;
1	x	{a}
\.
ALTER TABLE ONLY public.parent ADD CONSTRAINT k PRIMARY KEY (a);
ALTER TABLE ONLY public.child ADD CONSTRAINT f FOREIGN KEY (parent) REFERENCES public.parent(a) ON DELETE CASCADE;
